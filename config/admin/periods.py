"""The period of the home page, and the one before it, with which it is compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

PERIODS: Final = {1: _("Today"), 7: _("7 days"), 30: _("30 days"), 90: _("90 days")}  # by the number of days
DEFAULT_DAYS: Final = 30
MIN_CHART_DAYS: Final = 7  # a chart of one day says nothing
FORMAT: Final = "%Y-%m-%d %H:%M:%S%z"


@dataclass(frozen=True)
class Period:
    """Whole days up to ``last``, which is today: the last day of both periods may lack its evening."""

    days: int
    last: date

    @property
    def first(self) -> date:
        """The first day."""
        return self.last - timedelta(days=self.days - 1)

    def before(self) -> "Period":
        """Return the period of the same length before this one."""
        return Period(self.days, self.first - timedelta(days=1))

    def list_days(self) -> list[date]:
        """Return the days, oldest first."""
        return [self.first + timedelta(days=n) for n in range(self.days)]

    def list_chart_days(self) -> list[date]:
        """Return the days of a chart, oldest first."""
        return Period(max(self.days, MIN_CHART_DAYS), self.last).list_days()

    def sum_days(self, numbers: Mapping[date, int]) -> int:
        """Return the sum of the numbers of its days."""
        return sum(numbers.get(day, 0) for day in self.list_days())

    def query(self, column: str) -> dict[str, str]:
        """Return the parameters of a list for rows of this period."""
        return query_days(column, self.first, self.last)


def read_period(request: HttpRequest, today: date) -> Period:
    """Return the period that the address names, by default one of 30 days."""
    given = request.GET.get("period", "")
    days = int(given) if given in map(str, PERIODS) else DEFAULT_DAYS
    return Period(days, today)


def start_of(day: date) -> datetime:
    """Return the first moment of a day in the site's time zone."""
    return timezone.make_aware(datetime.combine(day, time()))


def end_of(day: date) -> datetime:
    """Return the first moment after a day."""
    return start_of(day + timedelta(days=1))


def query_days(column: str, first: date, last: date) -> dict[str, str]:
    """Return the parameters of a list for rows with a time on these days."""
    ends = {"gte": start_of(first), "lt": end_of(last)}
    return {f"{column}__{side}": moment.strftime(FORMAT) for side, moment in ends.items()}


def join_days(days: Sequence[date], numbers: Mapping[date, int]) -> list[int]:
    """Return the number of each day."""
    return [numbers.get(day, 0) for day in days]
