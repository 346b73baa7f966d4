"""Template contexts: the shelf button of a book, the numbers of its readers, and the tabs of shelves."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.utils.functional import Promise

from catalog.shelves.models import STARS, Shelf
from catalog.shelves.selectors import BookReaders, ShelfSummary, count_readers, find_entry


class ShelfTab(NamedTuple):
    """A link to a shelf."""

    shelf: Shelf
    label: str | Promise
    books: int
    url: str


class HistogramBar(NamedTuple):
    """A bar of the histogram. width: in percent of the longest bar."""

    stars: int
    readers: int
    width: int


def build_button_context(
    request: HttpRequest, user_id: int | None, book_id: int, *, is_part: bool = False
) -> dict[str, Any]:
    """Return the context of a book's shelf button. user_id: None if not logged in. is_part: whether htmx asked."""
    entry = find_entry(user_id, book_id) if user_id else None
    return {
        "request": request,
        "is_signed_in": bool(user_id),
        "book_id": book_id,
        "entry": entry,
        "choices": Shelf.choices,
        "all_stars": STARS,
        "is_part": is_part,
    }


def build_readers_context(book_id: int) -> dict[str, Any]:
    """Return the numbers of a book's readers, and the histogram of their ratings, five stars first."""
    readers = count_readers(book_id)
    return {"readers": readers, "want": readers.counts[Shelf.WANT], "bars": _build_bars(readers)}


def _build_bars(readers: BookReaders) -> list[HistogramBar]:
    most = max(readers.stars.values()) or 1
    return [
        HistogramBar(stars, count, round(100 * count / most))
        for stars, count in sorted(readers.stars.items(), reverse=True)
    ]


def build_tabs(shelves: ShelfSummary, shown: Sequence[Shelf], address: Callable[[Shelf], str]) -> list[ShelfTab]:
    """Return a link to each of these shelves."""
    return [ShelfTab(shelf, shelf.label, shelves.counts[shelf], address(shelf)) for shelf in shown]
