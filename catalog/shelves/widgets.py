"""Template contexts: the shelf button of a book, the numbers of its readers, and the tabs of shelves."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.safestring import SafeString

from catalog.books.series import split_title
from catalog.readings.progress import ShownProgress, read_progress
from catalog.shelves.forms import find_when, get_last_date
from catalog.shelves.models import Shelf
from catalog.shelves.selectors import BookReaders, ShelfSummary, count_readers, find_entry
from common.form_parts import render_for
from common.frame import find_way_back
from common.rendered import remember_rendered

MAX_BYTES: Final = 8_000_000  # of remembered shelf buttons; each takes about 500 bytes
CARD_TEMPLATE: Final = "catalog/shelves/_card.html"


class ShelfTab(NamedTuple):
    """A link to a shelf."""

    shelf: Shelf
    label: str | Promise
    books: int
    url: str


class HistogramBar(NamedTuple):
    """A bar of the histogram: the ratings with as many whole stars. width: in percent of all ratings.

    stars: in halves. linked: those of the reviews that it links to.
    """

    stars: int
    readers: int
    width: int
    linked: int


class ShownEntry(NamedTuple):
    """A book on the visitor's shelf, as its button shows it. Dates are in ISO 8601. stars: in halves.

    pages: of the reader's own edition (own_pages), or else of the book.
    """

    shelf: str
    stars: int | None
    started_on: str | None
    finished_on: str | None
    when: str  # the choice of When that shows the finish date
    pages: int | None
    own_pages: int | None
    earlier: int
    progress: ShownProgress | None


def show_entry(entry: Mapping[str, Any], book_pages: int | None) -> ShownEntry:
    """Return the record of an entry as pages show it. book_pages: of the book, or None if unknown."""
    when = find_when(entry["finished_on"], entry["finished_precision"])
    return ShownEntry(
        entry["shelf"],
        entry["stars"],
        entry["started_on"],
        entry["finished_on"],
        when.value,
        entry["pages"] or book_pages,
        entry["pages"],
        entry["earlier"],
        read_progress(entry, book_pages),
    )


class OwnParts(NamedTuple):
    """Parts of a book's page that differ between readers. rating: with progress and dates; empty without a login."""

    shelf: SafeString
    rating: SafeString


def render_own_parts(
    request: HttpRequest, user_id: int | None, book_id: int, book_pages: int | None, *, action: str = ""
) -> OwnParts:
    """Render a book's shelf buttons, and the visitor's rating, progress and dates.

    user_id: None if not logged in. book_pages: of the book, or None if unknown. action: the change that htmx asked
    for, whose control keeps the focus.
    """
    entry = find_entry(user_id, book_id) if user_id else None
    shown = show_entry(entry, book_pages) if entry else None
    facts = {
        "is_signed_in": bool(user_id),
        "book_id": book_id,
        "entry": shown,
        "action": action,
        "last_date": get_last_date(),
        "back": "" if user_id else find_way_back(request),
    }
    rating = render_for(request, "catalog/shelves/_rating.html", facts) if user_id else SafeString()
    return OwnParts(render_for(request, "catalog/shelves/_button.html", facts), rating)


def render_card_shelf(
    book_id: int, title: str, entry: Mapping[str, Any] | None, *, is_anchor: bool, is_part: bool = False
) -> SafeString:
    """Render the shelf button on a book's card, or the shelf of the visitor's entry.

    is_anchor: whether it is the only one of its book on the page, so that it may have an id.
    is_part: whether htmx asked.
    """
    return _render_card_shelf(book_id, title, str(entry["shelf"]) if entry else "", is_anchor, is_part)


# Remembered, because it holds no token.
@remember_rendered(MAX_BYTES)
def _render_card_shelf(book_id: int, title: str, shelf: str, is_anchor: bool, is_part: bool) -> SafeString:
    context = {
        "book_id": book_id,
        "title": split_title(title)[0],
        "shelf": Shelf(shelf).label if shelf else "",
        "is_anchor": is_anchor,
        "is_part": is_part,
    }
    return render_to_string(CARD_TEMPLATE, context)


class ReadersParts(NamedTuple):
    """The parts of a book's page about its readers: a line with their mean rating, and their numbers and ratings."""

    mean: SafeString
    ratings: SafeString


def render_readers(request: HttpRequest, book_id: int, *, is_part: bool = False) -> ReadersParts:
    """Render the numbers of a book's readers, and the histogram of their ratings, five stars first.

    is_part: whether htmx asked.
    """
    readers = count_readers(book_id)
    facts = {
        "book_id": book_id,
        "want": readers.counts[Shelf.WANT],
        "ratings": readers.ratings,
        "mean": readers.mean,
        "mean_halves": round(2 * (readers.mean or 0)),
        "bars": tuple(_build_bars(readers)),
        "is_part": is_part,
    }
    names = ("catalog/shelves/_mean.html", "catalog/shelves/_readers.html")
    return ReadersParts(*(render_for(request, name, facts) for name in names))


def _build_bars(readers: BookReaders) -> list[HistogramBar]:
    rows: dict[int, dict[int, int]] = {stars: {} for stars in range(10, 0, -2)}
    for stars, count in sorted(readers.stars.items()):
        if count:
            rows[max(2, stars - stars % 2)][stars] = count  # half a star is in the last row
    total = sum(readers.stars.values()) or 1
    bars = []
    for stars, row in rows.items():
        count, linked = sum(row.values()), stars if stars in row else next(iter(row), stars)
        bars.append(HistogramBar(stars, count, round(100 * count / total), linked))
    return bars


def build_tabs(
    shelves: ShelfSummary, shown: Sequence[Shelf], address: Callable[[Shelf], str], look: str
) -> list[ShelfTab]:
    """Return a link to each of these shelves, in the look that the visitor has chosen."""
    tabs = []
    for shelf in shown:
        url = address(shelf)
        if look:
            url += f"{'&' if '?' in url else '?'}look={look}"
        tabs.append(ShelfTab(shelf, shelf.label, shelves.counts[shelf], url))
    return tabs
