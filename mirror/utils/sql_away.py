"""Errors which mean that SQL is away or busy, not that a statement is wrong, and the log of such times."""

import logging
from typing import Final

from django.db.utils import Error, InterfaceError, OperationalError

from mirror.utils.failure_log import FailureLog

SQL_AWAY: Final = (InterfaceError, OperationalError)

_outages: Final = FailureLog(logging.getLogger("mirror"))


def report_outage(error: Error) -> None:
    """Log that a drain of this process did not reach SQL, unless it is logged already."""
    _outages.add("sql", "SQL did not answer, the relay will catch up: %s", error, level=logging.WARNING)


def report_answer() -> None:
    """Log that SQL answers again, if it was away."""
    _outages.end("sql", "SQL answers again")
