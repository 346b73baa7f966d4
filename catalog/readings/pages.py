"""The statistics of a year as pages and JSON show them."""

from collections.abc import Collection, Mapping
from datetime import date
from typing import Any, Final, NamedTuple

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from catalog.readings.statistics import YearStatistics, list_years, load_statistics
from catalog.shelves.arrangements import parse_year
from catalog.shelves.forms import get_today
from catalog.shelves.models import STARS, Shelf
from catalog.shelves.records import count_stars

FULL_WIDTH: Final = 100  # percent


class Bar(NamedTuple):
    """A bar of a chart. label: a month, or a rating in halves of a star. width: in percent of the longest bar.

    short: the label below an upright bar.
    """

    label: Any
    books: int
    pages: int
    width: int
    short: str = ""


class StatisticsPage(NamedTuple):
    """The statistics of a year, the bars of their charts, and the years to choose from."""

    found: YearStatistics
    years: list[int]
    months: list[Bar]
    stars: list[Bar]

    @property
    def json(self) -> dict[str, Any]:
        """The statistics in the form of JSON answers."""
        found = self.found
        return {
            "year": found.year,
            "years": self.years,
            "books": found.books,
            "pages": found.pages,
            "months": [month._asdict() for month in found.months],
            "stars": [{"stars": count_stars(halves), "books": books} for halves, books in found.stars.items()],
            "tags": [tag._asdict() for tag in found.tags],
            "authors": [author._asdict() for author in found.authors],
            "longest": found.longest and found.longest._asdict(),
            "shortest": found.shortest and found.shortest._asdict(),
        }


def find_statistics_page(
    user_id: int, given: Mapping[str, str], shelves: Collection[Shelf] = tuple(Shelf)
) -> StatisticsPage:
    """Return the statistics of the year in the parameters of an address, by default the present one.

    shelves: those that the visitor may see. Costs nine statements.
    """
    present = get_today().year
    found = load_statistics(user_id, parse_year(given.get("year", "")) or present, shelves)
    # Also years without books, so that the chosen one is always among the links.
    years = sorted({present, found.year, *list_years(user_id, shelves)}, reverse=True)
    return StatisticsPage(found, years, _build_months(found), _build_stars(found))


def _build_months(found: YearStatistics) -> list[Bar]:
    most = max(month.books for month in found.months) or 1
    bars = []
    for month in [*found.months[1:], found.months[0]]:
        width = round(FULL_WIDTH * month.books / most)
        if month.number:
            first = date(found.year, month.number, 1)
            # Translators: the format of a month below a bar of a narrow chart; English: Jan.
            short = date_format(first, pgettext("format of a month", "M"))
            bars.append(Bar(date_format(first, "F"), month.books, month.pages, width, short))
        elif month.books:
            bars.append(Bar(_("Month unknown"), month.books, month.pages, width))
    return bars


def _build_stars(found: YearStatistics) -> list[Bar]:
    """Return a bar for each rating, also for those that no book has."""
    most = max(found.stars.values(), default=1)
    bars = []
    for halves in reversed(STARS):
        books = found.stars.get(halves, 0)
        bars.append(Bar(halves, books, 0, round(FULL_WIDTH * books / most)))
    return bars
