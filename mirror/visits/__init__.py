"""Visits: events too frequent for SQL, which pages append to a stream in Redis, and which the relay writes in bulk.

An application declares a ``VisitKind`` in its ``visits.py`` and registers it. Its pages append visits with a Lua script
made by ``script``. The relay reads them from the stream, writes them to SQL and removes them (``consume``).
"""

from mirror.visits.consumer import consume
from mirror.visits.declare import Visit, VisitKind, register, script
from mirror.visits.restoring import restore
from mirror.visits.status import VisitsStatus, statuses

__all__ = [
    "Visit",
    "VisitKind",
    "VisitsStatus",
    "consume",
    "register",
    "restore",
    "script",
    "statuses",
]
