"""Progress in a book, as pages show it."""

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple


class ShownProgress(NamedTuple):
    """How far a reader has come. pages: of the reader's edition, or None if unknown."""

    noted_on: date
    page: int | None
    percent: int | None
    note: str
    pages: int | None

    @property
    def portion(self) -> int | None:
        """The read part of the book in percents, or None if the number of pages is unknown."""
        if self.page is None:
            return self.percent
        return min(100, 100 * self.page // self.pages) if self.pages else None

    @property
    def is_complete(self) -> bool:
        """Whether the reader has reached the end."""
        return self.portion == 100


def read_progress(entry: Mapping[str, Any], book_pages: int | None) -> ShownProgress | None:
    """Return the latest progress in the record of an entry, or None."""
    found = entry["progress"]
    if found is None:
        return None
    noted_on = date.fromisoformat(found["noted_on"])
    return ShownProgress(noted_on, found["page"], found["percent"], found["note"], entry["pages"] or book_pages)
