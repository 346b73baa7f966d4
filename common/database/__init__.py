"""Helpers for SQL: slices of long writes, arrays of pairs, the priority of requests, and conflicts of transactions."""

from common.database import open_file, pairs, request_priority
from common.database.conflicts import repeat_after_conflict
from common.database.pointing import point_rows_at
from common.database.slices import SLICE_SIZE, Atomic, split_slices

__all__ = [
    "SLICE_SIZE",
    "Atomic",
    "open_file",
    "pairs",
    "point_rows_at",
    "repeat_after_conflict",
    "request_priority",
    "split_slices",
]
