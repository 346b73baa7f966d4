"""Days as squares, a small sheet for each month: SVG that is drawn here and needs no script and no style of its own.

For the eye each day is a square with its number. For everybody else a sheet is one picture whose name says what is
in it, and the page has a table with the same beside it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from django.utils.dates import WEEKDAYS_ABBR
from django.utils.formats import date_format, get_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

from loginlog import days as calendar

SIDE: Final = 24  # of a square, with the gap to the next
LEVELS: Final = 4  # shades, beside none


@dataclass(frozen=True)
class Sheet:
    """A month (or what of it was asked for): ``picture`` is SVG. id: for links to the month's row in the table."""

    first: date
    picture: SafeString

    @property
    def id(self) -> str:
        """ "m2026-03"."""
        return f"m{self.first:%Y-%m}"

    @property
    def name(self) -> str:
        """The month in words: "March 2026"."""
        return month_name(self.first)


def month_name(day: date) -> str:
    """The month in which a day lies, in words, with its year."""
    return date_format(day, "YEAR_MONTH_FORMAT")


def level(count: int, most: int) -> int:
    """The shade of a day: 0 for nobody, 4 for those near the busiest."""
    return 0 if count <= 0 else 1 + (LEVELS * count - 1) // max(most, count)


def sheet(
    first: date, last: date, levels: Mapping[date, int], *, name: str, day_title: Callable[[date], str], today: date
) -> Sheet:
    """The sheet of one month, from ``first`` to ``last``.

    levels: shades by day; those left out are 0. name: what the picture says, in words. Days after ``today`` are
    drawn as yet to come.
    """
    start = (first.replace(day=1).weekday() - _first_weekday()) % 7
    squares = []
    for day in calendar.days(first, last):
        row, column = divmod(start + day.day - 1, 7)
        shade = "ahead" if day > today else f"l{levels.get(day, 0)}"
        shade += " today" if day == today else ""
        x, y = column * SIDE, (row + 1) * SIDE
        squares.append((shade, day_title(day), x + 1, y + 1, x + SIDE // 2, y + 16, day.day))
    rows = (start + calendar.last_of(first).day + 6) // 7 + 1
    picture = format_html(
        '<svg class="sheet-of-days" role="img" viewBox="0 0 {} {}" aria-label="{}"><g class="weekdays">{}</g>{}</svg>',
        7 * SIDE,
        rows * SIDE,
        name,
        format_html_join("", '<text x="{}" y="16">{}</text>', _weekdays()),
        format_html_join(
            "",
            '<g class="{}"><title>{}</title><rect x="{}" y="{}" width="22" height="22" rx="3"/>'
            '<text x="{}" y="{}">{}</text></g>',
            squares,
        ),
    )
    return Sheet(first, picture)


def spoken(days: Iterable[date]) -> str:
    """Days of one month as people write them: "1, 2, 5–9"."""
    runs: list[list[int]] = []
    for day in sorted(days):
        if runs and runs[-1][1] == day.day - 1:
            runs[-1][1] = day.day
        else:
            runs.append([day.day, day.day])
    texts = [
        str(a) if a == b else f"{a}{pgettext('between days in a list', ', ')}{b}" if b == a + 1 else f"{a}–{b}"
        for a, b in runs
    ]
    return pgettext("between days in a list", ", ").join(texts)


def _first_weekday() -> int:
    """0 for Monday, by the language's custom."""
    return (int(get_format("FIRST_DAY_OF_WEEK")) - 1) % 7


def _weekdays() -> Sequence[tuple[int, str]]:
    start = _first_weekday()
    names = [str(WEEKDAYS_ABBR[(start + n) % 7]) for n in range(7)]
    # "周一" has what tells it apart at its end, "Mon" at its start.
    shared = len({name[0] for name in names}) == 1
    return [(n * SIDE + SIDE // 2, name[-1] if shared else name[0]) for n, name in enumerate(names)]
