"""Rows of books on a page."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

MIN_BOOKS: Final = 3  # books of a row without those of the rows above it

Shown = TypeVar("Shown")


class BookRows:
    """The rows of books on a page, in which no book stands twice. They are filled in the order of the page."""

    def __init__(self) -> None:
        self._shown: set[int] = set()

    def fill(
        self, books: Sequence[Shown], count: int, get_id: Callable[[Shown], int], least: int = MIN_BOOKS
    ) -> list[Shown]:
        """Return the first ``count`` of the books that are in no row above, for the next row.

        A row that would lose books and have fewer than ``least`` is left out: the list is empty.
        """
        row = [book for book in books if get_id(book) not in self._shown][:count]
        if len(row) < min(least, len(books)):
            return []
        self._shown.update(map(get_id, row))
        return row
