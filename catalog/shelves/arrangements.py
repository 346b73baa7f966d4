"""Filters and orders of a shelf. SQL answers them, and Redis the whole shelf by its own date.

A reader's shelf has at most some thousand books, which SQL finds by one index and sorts in milliseconds. A sorted set
for each order would be seven more entries of each book, for pages that few readers open.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Lower
from django.utils.translation import pgettext_lazy

from catalog.models import Author, Tagging
from catalog.names import normalise
from catalog.shelves.models import NO_DATE, STARS, EarlierReading, Shelf, ShelfEntry
from catalog.shelves.records import write_stars
from mirror.conf import setting

MAX_TAG_LENGTH: Final = 200  # letters
LOOK_NAMES: Final = ("covers", "list")
HALVES: Final = {write_stars(number): number for number in STARS}


class Order(NamedTuple):
    """An order of a shelf. expression: what SQL sorts by; books with equal values come latest id first."""

    label: Any
    expression: Any
    is_descending: bool


def _find_first_author() -> Coalesce:
    links = Author.books.through.objects.filter(book_id=OuterRef("book_id")).order_by("pk")
    return Coalesce(Lower(Subquery(links.values("author__name")[:1])), Value(""))


ORDERS: Final[Mapping[str, Order]] = {
    "shelved": Order(pgettext_lazy("order", "Date added"), F("shelved_on"), True),
    "read": Order(pgettext_lazy("order", "Date read"), Coalesce("finished_on", Value(NO_DATE)), True),
    "stars": Order(pgettext_lazy("order", "Stars"), Coalesce("stars", Value(0)), True),
    "title": Order(pgettext_lazy("order", "Title"), F("book__title_key"), False),
    "author": Order(pgettext_lazy("order", "Author"), _find_first_author(), False),
}


class Arrangement(NamedTuple):
    """The chosen order, filters and look of a shelf; empty values choose nothing. stars: in halves. year: a book was
    finished.
    """

    sort: str = ""
    stars: int | None = None
    year: int | None = None
    tag: str = ""
    look: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether the whole shelf is shown by its own date."""
        return self.with_look("") == Arrangement()

    @property
    def parameters(self) -> str:
        """The chosen values as the query of an address, ending with "&" unless it is empty."""
        stars = None if self.stars is None else write_stars(self.stars)
        values = {"sort": self.sort, "stars": stars, "year": self.year, "tag": self.tag, "look": self.look}
        chosen = {name: value for name, value in values.items() if value}
        return f"{urlencode(chosen)}&" if chosen else ""

    def with_look(self, look: str) -> "Arrangement":
        """Return the same order and filters with another look."""
        return self._replace(look=look)

    def shows_covers(self, shelf: Shelf) -> bool:
        """Return whether the page shows covers, not the list, which has the forms of books that are being read."""
        return self.look == "covers" or (not self.look and shelf != Shelf.READING)


def parse_arrangement(given: Mapping[str, str]) -> Arrangement:
    """Return the order and filters in the parameters of an address. Invalid values choose nothing."""
    sort = given.get("sort", "")
    return Arrangement(
        sort if sort in ORDERS else "",
        HALVES.get(given.get("stars", "")),
        parse_year(given.get("year", "")),
        normalise(given.get("tag", "")[:MAX_TAG_LENGTH]),
        given.get("look", "") if given.get("look") in LOOK_NAMES else "",
    )


def parse_year(text: str) -> int | None:
    """Return a year of four digits, or None for any other text."""
    is_year = len(text) == 4 and text.isascii() and text.isdecimal() and text > "0000"
    return int(text) if is_year else None


def find_arranged(user_id: int, shelf: Shelf, chosen: Arrangement, after: int, limit: int) -> list[int]:
    """Return the ids of the next books of a shelf, after the book ``after`` (0: from the start)."""
    order = ORDERS.get(chosen.sort)
    expression, is_descending = (order.expression, order.is_descending) if order else (F("sort_on"), True)
    mine = ShelfEntry.objects.using(setting("DATABASE")).filter(user_id=user_id).annotate(position=expression)
    rows = _filter_rows(mine.filter(shelf=shelf), chosen)
    # The present value of the last book, as of all others. Without that book the shelf begins again.
    last = mine.filter(book_id=after).values_list("position", flat=True).first() if after else None
    if last is not None:
        step = "lt" if is_descending else "gt"
        rows = rows.filter(Q(**{f"position__{step}": last}) | Q(position=last, book_id__lt=after))
    first = F("position").desc() if is_descending else F("position").asc()
    return list(rows.order_by(first, "-book_id").values_list("book_id", flat=True)[:limit])


def _filter_rows(rows: QuerySet[Any], chosen: Arrangement) -> QuerySet[Any]:
    if chosen.stars is not None:
        rows = rows.filter(stars=chosen.stars)
    if chosen.year is not None:
        days = (date(chosen.year, 1, 1), date(chosen.year, 12, 31))
        earlier = EarlierReading.objects.filter(
            user_id=OuterRef("user_id"), book_id=OuterRef("book_id"), is_finished=True, finished_on__range=days
        )
        # The same readings as in the statistics of the year: a book that was given up was not read.
        rows = rows.filter(Q(shelf=Shelf.READ, finished_on__range=days) | Exists(earlier))
    if chosen.tag:
        tagged = Tagging.objects.filter(book_id=OuterRef("book_id"), tag__name=chosen.tag)
        rows = rows.filter(Exists(tagged))
    return rows
