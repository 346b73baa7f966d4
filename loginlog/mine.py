"""A user's calendar: the login days in a range, and streaks."""

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
    """A month with its login days; ``sheet`` is the picture."""

    sheet: Sheet
    days: list[date]

    @property
    def spoken(self) -> str:
        """Return the days as text: "1, 2, 5–9"."""
        return heatmap.spoken(self.days)


@dataclass(frozen=True)
class Calendar:
    """A calendar. ``days`` has the login days, ascending.

    ``longest`` is the longest streak in the range, and ``current`` the streak that includes today or yesterday.
    """

    shown: Range
    today: date
    days: list[date]
    longest: int
    current: int

    @property
    def months(self) -> list[Month]:
        """Draw the months of the range."""
        return [_month(first, last, self.days, self.today) for first, last in self.shown.months]

    @property
    def is_year(self) -> bool:
        """Return whether the range is a calendar year."""
        return self.shown == year(self.shown.first.year)

    def as_json(self) -> dict[str, Any]:
        """Return the calendar as a value for JSON."""
        return {
            "from": self.shown.first,
            "to": self.shown.last,
            "total": len(self.days),
            "longest_streak": self.longest,
            "current_streak": self.current,
            "days": self.days,
        }


def calendar(user: User | int, shown: Range, today: date) -> Calendar:
    """Return a user's calendar of a range.

    Takes one round trip if the range contains today, else one more for the current streak. A current streak that began
    before the days read so far takes another one per year.
    """
    found = selectors.login_days(user, shown.first, shown.last)
    if shown.has(today):
        current = _current(user, found, shown.first, today)
    else:
        current = _current(user, selectors.login_days(user, today - A_YEAR, today), today - A_YEAR, today)
    return Calendar(shown, today, found, streaks.longest(streaks.to_bits(found, shown.first)), current)


def _current(user: User | int, recent: Sequence[date], since: date, today: date) -> int:
    """Return the length of the current streak from the days since ``since``; read earlier years if it fills them."""
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
