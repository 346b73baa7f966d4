"""A person's own calendar: the days of a range on which they logged in, and their streaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from loginlog import heatmap, selectors, streaks
from loginlog.days import A_DAY
from loginlog.heatmap import Sheet
from loginlog.ranges import Range, year

A_YEAR: Final = timedelta(days=366)


@dataclass(frozen=True)
class Month:
    """A month with its days in words; ``sheet`` is the picture."""

    sheet: Sheet
    days: list[date]

    @property
    def spoken(self) -> str:
        """ "1, 2, 5–9"."""
        return heatmap.spoken(self.days)


@dataclass(frozen=True)
class Calendar:
    """days: those with a login, ascending. longest: the longest streak in the range. current: the one of today."""

    shown: Range
    today: date
    days: list[date]
    longest: int
    current: int

    @property
    def months(self) -> list[Month]:
        """The months of the range, drawn."""
        return [_month(first, last, self.days, self.today) for first, last in self.shown.months]

    @property
    def is_year(self) -> bool:
        """Whether it is a calendar year."""
        return self.shown == year(self.shown.first.year)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "from": self.shown.first,
            "to": self.shown.last,
            "total": len(self.days),
            "longest_streak": self.longest,
            "current_streak": self.current,
            "days": self.days,
        }


def calendar(user: User | int, shown: Range, today: date) -> Calendar:
    """The calendar of a range. One round trip if today is in it; else one more, for the present streak.

    (And one for each further year that the present streak has lasted.)
    """
    found = selectors.login_days(user, shown.first, shown.last)
    if shown.has(today):
        current = _current(user, found, shown.first, today)
    else:
        current = _current(user, selectors.login_days(user, today - A_YEAR, today), today - A_YEAR, today)
    return Calendar(shown, today, found, streaks.longest(streaks.to_bits(found, shown.first)), current)


def _current(user: User | int, recent: Sequence[date], since: date, today: date) -> int:
    """The present streak, from the days since then; where it fills all of them, the year before is read as well."""
    known = list(recent)
    while True:
        length = streaks.current(streaks.to_bits(known, since), (today - since).days)
        if length < (today - since).days:
            return length
        earlier = since - A_YEAR
        known += selectors.login_days(user, earlier, since - A_DAY)
        since = earlier


def _month(first: date, last: date, days: Sequence[date], today: date) -> Month:
    own = [day for day in days if first <= day <= last]
    count = ngettext("%(n)d day with a login", "%(n)d days with a login", len(own)) % {"n": len(own)}
    name = f"{heatmap.month_name(first)}: {count}" + (f": {heatmap.spoken(own)}" if own else "")
    on = set(own)

    def title(day: date) -> str:
        return f"{date_format(day)}: {_('logged in')}" if day in on else date_format(day)

    levels = dict.fromkeys(own, heatmap.LEVELS)
    return Month(heatmap.sheet(first, last, levels, name=name, day_title=title, today=today), own)
