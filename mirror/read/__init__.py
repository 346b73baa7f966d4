"""Reads of mirrored data, which are answered only by warm mirrors; otherwise SQL answers."""

from typing import TYPE_CHECKING

from mirror.utils.exports import export_lazily

if TYPE_CHECKING:
    from mirror.kinds import get_encoder
    from mirror.read import stamps
    from mirror.read.foreseen import Foreseen
    from mirror.read.local import LocalCopy
    from mirror.read.prefetch import Asked, Prefetched, fetch, known, select_guesses
    from mirror.read.raw import RawRecord
    from mirror.read.reads import Reading, add_marker, is_current, read
    from mirror.read.replica import ask_sql
    from mirror.relay.sql_only import sql_only as read_from_sql
    from mirror.warm.marker import database_identity

__all__ = [
    "Asked",
    "Foreseen",
    "LocalCopy",
    "Prefetched",
    "RawRecord",
    "Reading",
    "add_marker",
    "ask_sql",
    "database_identity",
    "fetch",
    "get_encoder",
    "is_current",
    "known",
    "read",
    "read_from_sql",
    "select_guesses",
    "stamps",
]

__getattr__ = export_lazily(
    __name__,
    {
        "Asked": "mirror.read.prefetch",
        "Foreseen": "mirror.read.foreseen",
        "LocalCopy": "mirror.read.local",
        "Prefetched": "mirror.read.prefetch",
        "RawRecord": "mirror.read.raw",
        "Reading": "mirror.read.reads",
        "add_marker": "mirror.read.reads",
        "ask_sql": "mirror.read.replica",
        "database_identity": "mirror.warm.marker",
        "fetch": "mirror.read.prefetch",
        "get_encoder": "mirror.kinds",
        "is_current": "mirror.read.reads",
        "known": "mirror.read.prefetch",
        "read": "mirror.read.reads",
        "read_from_sql": "mirror.relay.sql_only:sql_only",
        "select_guesses": "mirror.read.prefetch",
    },
)
