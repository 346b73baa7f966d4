"""Visits: events too frequent for SQL, which pages append to a stream in Redis, and which the relay writes in bulk.

An application declares a ``VisitKind`` in its ``visits.py`` and registers it. Its pages append visits with a Lua script
made by ``script``. The relay reads them from the stream, writes them to SQL and removes them (``consume``).
"""

from typing import TYPE_CHECKING

from mirror.utils.exports import export_lazily
from mirror.visits.declare import Visit, VisitKind, register, script

if TYPE_CHECKING:
    from mirror.visits.consumer import consume
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

__getattr__ = export_lazily(
    __name__,
    {
        "VisitsStatus": "mirror.visits.status",
        "consume": "mirror.visits.consumer",
        "restore": "mirror.visits.restoring",
        "statuses": "mirror.visits.status",
    },
)
