"""The log of the times when drains did not reach SQL."""

import logging
from typing import Final

from django.db.utils import Error

from mirror.utils.failure_log import FailureLog

_outages: Final = FailureLog(logging.getLogger("mirror"))


def report_outage(error: Error) -> None:
    """Log that a drain of this process did not reach SQL, unless it is logged already."""
    _outages.add("sql", "SQL did not answer, the relay will catch up: %s", error, level=logging.WARNING)


def report_answer() -> None:
    """Log that SQL answers again, if it was away."""
    _outages.end("sql", "SQL answers again")
