"""Bulk work that stands in nobody's way: what imports many rows commits them in slices of this size.

On SQLite whoever posts meanwhile waits for the slice that is being written and for no other: they go before the next
one (``config.people_first``), and so does the relay, in its turn. On PostgreSQL short statements share the processor.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

SLICE: Final = 500  # rows a transaction: some 20 ms

Row = TypeVar("Row")


def slices(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows, in their order, in lists of up to ``SLICE``: each is to be written in one transaction."""
    left = iter(rows)
    while some := list(islice(left, SLICE)):
        yield some
