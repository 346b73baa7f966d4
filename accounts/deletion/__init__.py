"""Deletion of accounts after a grace period."""

from accounts.deletion.services import Backend

__all__ = ["Backend"]  # sessions contain this path
