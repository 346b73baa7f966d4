"""Helpers without knowledge of mirrors: arrays in SQL, callbacks, bounded dictionaries, logs of lasting failures."""

from mirror.utils import arrays
from mirror.utils.bounded import Bounded
from mirror.utils.callbacks import CountCallback, ProgressCallback, Step, ignore
from mirror.utils.commit import after_commit
from mirror.utils.failure_log import FailureLog
from mirror.utils.sql_outages import SQL_AWAY

__all__ = [
    "SQL_AWAY",
    "Bounded",
    "CountCallback",
    "FailureLog",
    "ProgressCallback",
    "Step",
    "after_commit",
    "arrays",
    "ignore",
]
