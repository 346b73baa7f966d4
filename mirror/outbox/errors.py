"""Errors of a row, apart from those of a server that is away."""

from mirror.outbox.changes import InTransaction
from mirror.redis.errors import is_away
from mirror.utils.sql_away import SQL_AWAY

OVERFLOW = "integer overflow"  # SQLite says so of a sum of rows, by the class of errors of a server that is away


def raise_if_away(error: Exception) -> None:
    """Raise ``error`` again if it is no fault of a key: a server is away or busy, or the caller is in a transaction."""
    if str(error) == OVERFLOW:
        return
    if isinstance(error, (*SQL_AWAY, InTransaction)) or is_away(error):
        raise error


def say(error: Exception) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {error}"
