"""Heat maps: a small SVG sheet per month with a square for each day, without scripts or inline styles.

Each square shows its day of the month. For screen readers a sheet is one picture with a description, and the page has a
table with the same data. So the keyboard has twelve stops a year instead of 365, and a strip of 53 weeks would be
unreadable on a phone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

from django.utils.dates import WEEKDAYS_ABBR
from django.utils.formats import date_format, get_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import pgettext

from loginlog.days import last_day_of_month, list_days

SQUARE_SIDE: Final = 24  # of a square, including the gap to the next
MAX_CACHED_SQUARES: Final = 8192  # of 200 bytes
MAX_LEVEL: Final = 4  # shades, in addition to an empty square


@dataclass(frozen=True)
class Sheet:
    """A month or a part of it, drawn as SVG. ``id`` is the anchor of the month's row in the table."""

    first: date
    picture: SafeString

    @property
    def id(self) -> str:
        """Return the anchor, such as "m2026-03"."""
        return f"m{self.first:%Y-%m}"

    @property
    def name(self) -> str:
        """Return the month in words: "March 2026"."""
        return format_month(self.first)


def format_month(day: date) -> str:
    """Return the month and year of a day in words."""
    return date_format(day, "YEAR_MONTH_FORMAT")


def compute_level(count: int, most: int) -> int:
    """Return the shade of a day: 0 without users, 4 near the busiest day's number."""
    if count <= 0:
        return 0
    return 1 + (MAX_LEVEL * count - 1) // max(most, count)


def draw_sheet(
    first: date, last: date, levels: Mapping[date, int], *, name: str, day_title: Callable[[date], str], today: date
) -> Sheet:
    """Draw the sheet of one month, from ``first`` to ``last``.

    ``levels`` has shades by day, by default 0. ``name`` describes the picture in words. Days after ``today`` are drawn
    as future days.
    """
    start = (first.replace(day=1).weekday() - _first_weekday()) % 7
    squares = []
    for day in list_days(first, last):
        row, column = divmod(start + day.day - 1, 7)
        shade = "ahead" if day > today else f"s{levels.get(day, 0)}"
        if day == today:
            shade += " today"
        squares.append(_draw_square(column, row + 1, shade, day_title(day), day.day))
    rows = (start + last_day_of_month(first).day + 6) // 7 + 1
    picture = format_html(
        '<svg class="sheet-of-days" role="img" viewBox="0 0 {} {}" aria-label="{}"><g class="weekdays">{}</g>{}</svg>',
        7 * SQUARE_SIDE,
        rows * SQUARE_SIDE,
        name,
        format_html_join("", '<text x="{}" y="16">{}</text>', _build_weekday_labels()),
        mark_safe("".join(squares)),
    )
    return Sheet(first, picture)


# Cached, because a calendar has hundreds of squares, and those of most days are equal for all readers.
@lru_cache(maxsize=MAX_CACHED_SQUARES)
def _draw_square(column: int, row: int, shade: str, title: str, number: int) -> SafeString:
    x, y = column * SQUARE_SIDE, row * SQUARE_SIDE
    return format_html(
        '<g class="{}"><title>{}</title><rect x="{}" y="{}" width="22" height="22" rx="3"/>'
        '<text x="{}" y="{}">{}</text></g>',
        shade,
        title,
        x + 1,
        y + 1,
        x + SQUARE_SIDE // 2,
        y + 16,
        number,
    )


def format_days(days: Iterable[date]) -> str:
    """Return days of one month as text: "1, 2, 5–9"."""
    runs: list[list[int]] = []
    for day in sorted(days):
        if runs and runs[-1][1] == day.day - 1:
            runs[-1][1] = day.day
        else:
            runs.append([day.day, day.day])
    comma = pgettext("between days in a list", ", ")
    texts = []
    for first, last in runs:
        if first == last:
            texts.append(str(first))
        elif last == first + 1:
            texts.append(f"{first}{comma}{last}")
        else:
            texts.append(f"{first}–{last}")
    return comma.join(texts)


def _first_weekday() -> int:
    """Return the first weekday in the active language; 0 is Monday."""
    return (int(get_format("FIRST_DAY_OF_WEEK")) - 1) % 7


def _build_weekday_labels() -> Sequence[tuple[int, str]]:
    start = _first_weekday()
    names = [str(WEEKDAYS_ABBR[(start + n) % 7]) for n in range(7)]
    # Names such as "周一" differ in their last character, names such as "Mon" in their first.
    shared = len({name[0] for name in names}) == 1
    return [(n * SQUARE_SIDE + SQUARE_SIDE // 2, name[-1] if shared else name[0]) for n, name in enumerate(names)]
