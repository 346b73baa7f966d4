"""Rows and what they tell."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from catalog.library.formats import ImportedBook
from catalog.library.models import ImportRow


class Chunk(NamedTuple):
    """Rows of one import, each with what it tells. All have books."""

    rows: Sequence[ImportRow]
    told: Sequence[ImportedBook]

    @property
    def books(self) -> set[int]:
        """The ids of the books."""
        return set(map(get_book_id, self.rows))

    def pairs(self) -> Iterable[tuple[ImportRow, ImportedBook]]:
        """Return the rows with what they tell."""
        return zip(self.rows, self.told, strict=True)


def get_book_id(row: ImportRow) -> int:
    """Return the book of a row; 0 for none."""
    return row.book_id or 0


def collect_changes(rows: Sequence[ImportRow], name: str) -> list[Any]:
    """Return all members of the lists that rows noted under this name."""
    found: list[Any] = []
    for row in rows:
        found += row.changes.get(name, ())
    return found
