"""A user's calendar: the login days in a range, and streaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, lru_cache
from typing import Any, Final

from django.utils.formats import date_format
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from accounts.models import User
from common.rendered import remember_rendered
from loginlog import selectors
from loginlog.days import ONE_DAY
from loginlog.reports import heatmap, streaks
from loginlog.reports.heatmap import Sheet
from loginlog.reports.parameters import Range, year_range

MAX_CACHED_DAYS: Final = 4096  # texts
MAX_BYTES: Final = 8_000_000  # of remembered months; each takes about 5 kB
SHADE: Final = 2  # of login days: a calm one
STREAK_LOOK_BACK: Final = timedelta(days=366)


@dataclass(frozen=True)
class Month:
    """A month with its login days; ``sheet`` is the picture."""

    sheet: Sheet
    days: list[date]

    @property
    def spoken(self) -> str:
        """Return the days as text: "1, 2, 5–9"."""
        return heatmap.format_days(self.days)


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

    @cached_property
    def months(self) -> list[Month]:
        """The drawn months of the range. A year begins with the month of the first login, or else with this month."""
        since = self.shown.first
        if self.is_year and (self.days or self.shown.has(self.today)):
            since = self.days[0] if self.days else self.today
        found = []
        for first, last in self.shown.months:
            if last < since:
                continue
            own = tuple(day for day in self.days if first <= day <= last)
            # Any day before or after the month gives the same picture.
            nearest = max(first - ONE_DAY, min(self.today, last + ONE_DAY))
            found.append(_build_month(first, last, own, nearest))
        return found

    @property
    def is_year(self) -> bool:
        """Return whether the range is a calendar year."""
        return self.shown == year_range(self.shown.first.year)

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


def build_calendar(user: User | int, shown: Range, today: date) -> Calendar:
    """Return a user's calendar of a range.

    Takes one round trip if the range contains today, else one more for the current streak. A current streak that began
    before the days read so far takes another one per year.
    """
    found = selectors.find_login_days(user, shown.first, shown.last)
    if shown.has(today):
        current = _find_current_streak(user, found, shown.first, today)
    else:
        current = _find_current_streak(
            user, selectors.find_login_days(user, today - STREAK_LOOK_BACK, today), today - STREAK_LOOK_BACK, today
        )
    longest = streaks.longest(streaks.to_bits(found, shown.first))
    return Calendar(shown, today, found, longest, current)


def _find_current_streak(user: User | int, recent: Sequence[date], since: date, today: date) -> int:
    """Return the length of the current streak from the days since ``since``; read earlier years if it fills them."""
    known = list(recent)
    while True:
        length = streaks.current(streaks.to_bits(known, since), (today - since).days)
        if length < (today - since).days:
            return length
        earlier = since - STREAK_LOOK_BACK
        known += selectors.find_login_days(user, earlier, since - ONE_DAY)
        since = earlier


@lru_cache(maxsize=MAX_CACHED_DAYS)
def _describe_day(day: date, state: str, language: str | None) -> str:
    """Return the day in words, with its state if it has one. ``language`` must be the active language."""
    return f"{date_format(day)}: {state}" if state else date_format(day)


@remember_rendered(MAX_BYTES, measure=lambda month: len(month.sheet.picture))
def _build_month(first: date, last: date, own: tuple[date, ...], today: date) -> Month:
    """Draw a month with these login days."""
    count = ngettext("%(n)d day with a login", "%(n)d days with a login", len(own)) % {"n": len(own)}
    name = f"{heatmap.format_month(first)}: {count}" + (f": {heatmap.format_days(own)}" if own else "")
    on, language = set(own), get_language()

    def title(day: date) -> str:
        return _describe_day(day, _("logged in") if day in on else "", language)

    levels = dict.fromkeys(own, SHADE)
    return Month(heatmap.draw_sheet(first, last, levels, name=name, day_title=title, today=today), list(own))
