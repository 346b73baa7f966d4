"""The errors by which SQL is away, busy or gone, rather than a statement wrong."""

from typing import Final

from django.db.utils import InterfaceError, OperationalError

SQL_AWAY: Final = (InterfaceError, OperationalError)
