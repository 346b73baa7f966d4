"""Reads of mirrored data, which are answered only by warm mirrors; otherwise SQL answers."""

from mirror.kinds import get_encoder
from mirror.outbox.identity import database_identity
from mirror.read import stamps
from mirror.read.local import LocalCopy
from mirror.read.past_reads import PastReads
from mirror.read.prefetch import NOTHING, Asked, Prefetched, Reading, fetch, known, select_guesses, send_along
from mirror.read.raw import RawRecord
from mirror.read.reads import add_marker, is_current, read
from mirror.read.replica import ask_sql, read_from_primary
from mirror.relay.sql_only import sql_only as read_from_sql

__all__ = [
    "NOTHING",
    "Asked",
    "LocalCopy",
    "PastReads",
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
    "read_from_primary",
    "read_from_sql",
    "select_guesses",
    "send_along",
    "stamps",
]
