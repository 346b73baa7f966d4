"""Errors which mean that SQL is away or busy, not that a statement is wrong."""

from typing import Final

from django.db.utils import InterfaceError, OperationalError

SQL_AWAY: Final = (InterfaceError, OperationalError)
