"""Slices for bulk work. Imports commit many rows in slices of this size, so that other writers wait only briefly.

On SQLite a request waits for the current slice only, because requests write before the next one
(``request_priority``). The relay also writes between slices. On PostgreSQL short statements share the processor.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Final, TypeVar

SLICE_SIZE: Final = 500  # rows in a transaction: some 20 ms

Atomic = Callable[[], AbstractContextManager[None]]  # opens the transaction of a slice, possibly one of a bulk load
Row = TypeVar("Row")


def split_slices(rows: Iterable[Row], size: int | None = None) -> Iterator[list[Row]]:
    """Yield the rows in order, in lists of up to ``size`` (None: SLICE_SIZE) for one transaction each."""
    left = iter(rows)
    while some := list(islice(left, size or SLICE_SIZE)):
        yield some
