"""An order of the books that can be changed and read in pages."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping
from heapq import nlargest, nsmallest
from math import inf
from typing import Any

from pyroaring import BitMap64

from catalog.listing.sql import Position
from mirror.utils import Bounded

# Relative costs: to visit the next book of the order, and to sort one result.
WALK_COST, SORT_COST = 1, 4
MAX_CACHED_RANGES = 32  # cached ranges; for 100,000 books each takes up to 0.2 MB


class Order:
    """Book ids sorted by key in ascending order, then by id."""

    def __init__(self, keys: Mapping[int, Any]) -> None:
        self.keys = dict(keys)
        self._sorted: list[Position] = sorted((key, pk) for pk, key in self.keys.items())
        self._ranges = Bounded[tuple[Any, Any], BitMap64](MAX_CACHED_RANGES)  # cleared when a book moves

    def put(self, pk: int, key: Any) -> None:
        """Set the key of book ``pk``."""
        if self.keys.get(pk) != key:
            # The place of a book is found by its old key, so it is dropped before the key changes.
            self.drop(pk)
            self._ranges.clear()
            self.keys[pk] = key
            insort(self._sorted, (key, pk))

    def drop(self, pk: int) -> None:
        """Remove book ``pk`` from the order."""
        if pk in self.keys:
            self._ranges.clear()
            del self._sorted[bisect_left(self._sorted, (self.keys.pop(pk), pk))]

    def page(self, books: BitMap64, after: Position | None, limit: int, *, is_reversed: bool = False) -> list[Position]:
        """Return the next ``limit`` of ``books`` after a position, which need not belong to a book.

        is_reversed: from the last key to the first; books without a key (inf) still come last.
        """
        start = self._count_up_to(after, is_reversed=is_reversed) if after is not None else 0
        if len(books) == len(self._sorted):  # all of them
            return self._slice_positions(start, start + limit, is_reversed=is_reversed)
        # With results spread evenly, a walk finds one every (all / results) steps. The limit is four times as many
        # steps; beyond it the results are sorted instead.
        steps = 4 * limit * len(self._sorted) // max(1, len(books))
        if steps * WALK_COST < len(books) * SORT_COST:
            walked = self._walk(books, start, start + steps, limit, is_reversed=is_reversed)
            if walked is not None:
                return walked
        return self._select(books, after, limit, is_reversed=is_reversed)

    def _select(self, books: BitMap64, after: Position | None, limit: int, *, is_reversed: bool) -> list[Position]:
        """Return the same page as ``page``, after looking at all of ``books``."""
        keys = self.keys
        found: Iterable[Position] = [(keys[pk], pk) for pk in books]
        if is_reversed:
            if after is not None:
                last = _build_reverse_key(after)
                found = [place for place in found if _build_reverse_key(place) < last]
            return nlargest(limit, found, key=_build_reverse_key)
        if after is not None:
            found = [place for place in found if place > after]
        return nsmallest(limit, found)

    def find_between(self, low: Any, high: Any) -> BitMap64:
        """Return the books with keys from ``low`` to ``high`` (None: no limit), never books without a key."""
        found = self._ranges.get((low, high))
        if found is None:
            start = 0 if low is None else bisect_left(self._sorted, (low,))
            end = self._count_keyed() if high is None else bisect_right(self._sorted, (high, inf))
            found = BitMap64([pk for _, pk in self._sorted[start:end]])
            self._ranges.put((low, high), found)
        return found

    def _count_keyed(self) -> int:
        has_all = not self._sorted or self._sorted[-1][0] != inf
        return len(self._sorted) if has_all else bisect_left(self._sorted, (inf,))

    def _count_up_to(self, after: Position, *, is_reversed: bool) -> int:
        """Return the number of books up to and including a position."""
        if not is_reversed:
            return bisect_right(self._sorted, after)
        place, with_key = bisect_left(self._sorted, after), self._count_keyed()
        if after[0] == inf:  # after all books with a key
            return with_key + len(self._sorted) - place
        return with_key - place

    def _slice_positions(self, start: int, end: int, *, is_reversed: bool) -> list[Position]:
        """Return the positions from place ``start`` to before place ``end``."""
        if not is_reversed:
            return self._sorted[start:end]
        # The stored order reversed as a whole would begin with the books without a key.
        with_key, every = self._count_keyed(), len(self._sorted)
        keyed = self._sorted[max(with_key - end, 0) : max(with_key - start, 0)]
        others = self._sorted[max(every - max(end - with_key, 0), with_key) : every - max(start - with_key, 0)]
        return keyed[::-1] + others[::-1]

    def _walk(self, books: BitMap64, start: int, end: int, limit: int, *, is_reversed: bool) -> list[Position] | None:
        """Return the first ``limit`` of ``books`` from place ``start``, or None if the walk reaches ``end`` first."""
        found = []
        for place in self._slice_positions(start, end, is_reversed=is_reversed):
            if place[1] in books:
                found.append(place)
                if len(found) == limit:
                    return found
        return found if end >= len(self._sorted) else None


def _build_reverse_key(place: Position) -> tuple[bool, Position]:
    """Return the sort key of a position in the reversed order, greatest first."""
    return place[0] != inf, place
