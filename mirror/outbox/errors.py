"""Errors of a row, apart from those of a server that is away."""

from mirror.outbox.changes import InTransaction
from mirror.redis.errors import is_away
from mirror.utils.sql_outages import is_sql_away


def raise_if_away(error: Exception) -> None:
    """Raise ``error`` again if it is no fault of a key: a server is away or busy, or the caller is in a transaction."""
    if isinstance(error, InTransaction) or is_sql_away(error) or is_away(error):
        raise error


def say(error: Exception) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {error}"
