"""Helpers for SQL: slices of long writes, arrays of pairs, and the priority of requests."""

from common.database import pairs, request_priority
from common.database.slices import SLICE_SIZE, split_slices

__all__ = [
    "SLICE_SIZE",
    "pairs",
    "request_priority",
    "split_slices",
]
