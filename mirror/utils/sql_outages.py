"""SQL that does not answer: its errors, and the log of the times when drains did not reach it."""

import logging
import sqlite3
from typing import Final

from django.db.utils import Error, InterfaceError, OperationalError

from mirror.utils.failure_log import FailureLog

SQL_AWAY: Final = (InterfaceError, OperationalError)

# SQLSTATE class of limits that one row or statement exceeds (a number of levels or columns)
PROGRAM_LIMIT: Final = "54"
_outages: Final = FailureLog(logging.getLogger("mirror"))


def is_sql_away(error: Exception) -> bool:
    """Return whether SQL is away or busy. Otherwise a statement or a row is at fault, if it is an error of SQL."""
    if not isinstance(error, SQL_AWAY):
        return False
    if isinstance(error.__cause__, sqlite3.Error):
        # SQLite's drivers have one class for both. This code, perhaps with details in the higher bytes, is that of
        # statements: a function that is missing or raises, malformed JSON, an overflow. An error of Python's module
        # has no code: a text that is not UTF-8.
        code = getattr(error.__cause__, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        return (code & 0xFF) != sqlite3.SQLITE_ERROR
    return not str(getattr(error.__cause__, "sqlstate", None)).startswith(PROGRAM_LIMIT)


def report_outage(error: Error) -> None:
    """Log that a drain of this process did not reach SQL, unless it is logged already."""
    _outages.add("sql", "SQL did not answer, the relay will catch up: %s", error, level=logging.WARNING)


def report_answer() -> None:
    """Log that SQL answers again, if it was away."""
    _outages.end("sql", "SQL answers again")
