"""An order of the books that can be changed and paged through."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping
from heapq import nsmallest
from typing import Any

from pyroaring import BitMap64

from catalog.sql import Position

# What a step costs, relative: looking at the next book of the order, putting a result in its place.
WALK, PLACE = 1, 4


class Order:
    """Book ids by key, then by id; keys compare ascending."""

    def __init__(self, keys: Mapping[int, Any]) -> None:
        self.keys = dict(keys)
        self._sorted: list[Position] = sorted((key, pk) for pk, key in self.keys.items())

    def put(self, pk: int, key: Any) -> None:
        """Book ``pk`` stands at ``key`` now."""
        if self.keys.get(pk) != key:
            self.drop(pk)
            self.keys[pk] = key
            insort(self._sorted, (key, pk))

    def drop(self, pk: int) -> None:
        """Book ``pk`` is in no place."""
        if pk in self.keys:
            del self._sorted[bisect_left(self._sorted, (self.keys.pop(pk), pk))]

    def page(self, books: BitMap64, after: Position | None, limit: int) -> list[Position]:
        """The next ``limit`` of ``books`` after a position, which may be of no book."""
        start = bisect_right(self._sorted, after) if after is not None else 0
        if len(books) == len(self._sorted):  # all of them
            return self._sorted[start : start + limit]
        # A walk finds a result every (all / results) steps, if they are spread evenly; it is given
        # four times as many, and what is not spread evenly is sorted.
        steps = 4 * limit * len(self._sorted) // max(1, len(books))
        if steps * WALK < len(books) * PLACE:
            walked = self._walk(books, start, start + steps, limit)
            if walked is not None:
                return walked
        keys = self.keys
        found = ((keys[pk], pk) for pk in books)
        return nsmallest(limit, found if after is None else (place for place in found if place > after))

    def _walk(self, books: BitMap64, start: int, end: int, limit: int) -> list[Position] | None:
        """The first ``limit`` of ``books`` from place ``start``, or None if they are not found before ``end``."""
        found = []
        for place in self._sorted[start:end]:
            if place[1] in books:
                found.append(place)
                if len(found) == limit:
                    return found
        return found if end >= len(self._sorted) else None
