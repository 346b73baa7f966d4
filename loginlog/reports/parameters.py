"""Parameters of addresses: ranges of days (``?from=&to=``), and choices among a few words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from loginlog.days import last_day_of_month, list_days, list_months

MAX_DAYS: Final = 366  # days: a page shows a year
EARLIEST_DAY: Final = date(1970, 1, 1)


class BadQuery(ValueError):
    """The address has an invalid parameter. ``str()`` gives the reason in the reader's language."""


@dataclass(frozen=True)
class Range:
    """The days from ``first`` to ``last`` inclusive."""

    first: date
    last: date

    @property
    def days(self) -> list[date]:
        """Return all days of the range, in order."""
        return list_days(self.first, self.last)

    @property
    def months(self) -> list[tuple[date, date]]:
        """Return the first and the last day of each month, cut to the range."""
        found = list_months(self.first, self.last)
        return [(max(month, self.first), min(last_day_of_month(month), self.last)) for month in found]

    def has(self, day: date) -> bool:
        """Return whether the range contains a day."""
        return self.first <= day <= self.last

    @property
    def query(self) -> str:
        """Return the query string of the range."""
        return f"from={self.first}&to={self.last}"


def year_range(number: int) -> Range:
    """Return the range of a calendar year."""
    return Range(date(number, 1, 1), date(number, 12, 31))


def parse_range(given: Mapping[str, str], default: Range, today: date) -> Range:
    """Return the range in the parameters, or the default. One end alone gets a range of the default's length.

    Raises BadQuery for an invalid date, for reversed ends, for more than a year, and for days before 1970 or after the
    current year.
    """
    first, last = _parse_day(given.get("from", "")), _parse_day(given.get("to", ""))
    if first is None and last is None:
        return default
    bound = year_range(today.year).last
    first, last = _complete_range(first, last, default.last - default.first, bound)
    if first > last:
        raise BadQuery(_("The first day must come before the last day."))
    if first < EARLIEST_DAY or last > bound:
        limits = {"first": date_format(EARLIEST_DAY), "last": date_format(bound)}
        raise BadQuery(_("Choose days from %(first)s to %(last)s.") % limits)
    if (last - first).days >= MAX_DAYS:
        raise BadQuery(_("A page shows at most %(days)d days. Choose a shorter period.") % {"days": MAX_DAYS})
    return Range(first, last)


def _complete_range(first: date | None, last: date | None, length: timedelta, bound: date) -> tuple[date, date]:
    """Return both ends of a range of which at least one is given."""
    # An end outside the limits stays as it is, so that the error names the limits and not a reversed range.
    if first is None:
        assert last is not None
        first = max(EARLIEST_DAY, last - length) if last >= EARLIEST_DAY else last
    if last is None:
        last = min(bound, first + length) if first <= bound else first
    return first, last


def parse_choice(given: Mapping[str, str], name: str, choices: Sequence[str]) -> str:
    """Return the parameter ``name``, or the first of ``choices`` if it is missing. Raises BadQuery for other words."""
    word = given.get(name, "") or choices[0]
    if word not in choices:
        values = {"name": name, "choices": ", ".join(filter(None, choices))}
        raise BadQuery(_("Choose one of these for “%(name)s”: %(choices)s.") % values)
    return word


def _parse_day(text: str) -> date | None:
    if not text.strip():
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        shown = text.strip()[:40]
        raise BadQuery(_("“%(text)s” is not a date. Write dates like 2026-03-31.") % {"text": shown}) from None
