"""The login report for staff: active users by day and type, and retention."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any, Final, cast

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import User
from loginlog import analytics, chart, ranges, selectors
from loginlog.analytics import EVERYBODY, Activity
from loginlog.chart import Chart
from loginlog.cohorts import KINDS, READINGS, Cohort, Kind, Period, Reading, periods
from loginlog.heatmap import LEVELS, level, month_name
from loginlog.ranges import Range

SHOWN: Final = timedelta(days=29)  # the default range ends today
PERIODS: Final = 12  # weeks or months in the table of cohorts


@dataclass(frozen=True)
class Question:
    """The parameters of a report. ``user_type`` "" means cohorts of all types."""

    days: Range
    by: Kind
    reading: Reading
    user_type: str
    today: date

    @property
    def periods(self) -> list[Period]:
        """Return the periods of the cohorts, which end with the range or today."""
        return periods(min(self.days.last, self.today), self.by, PERIODS)

    def query(self, **other: str) -> str:
        """Return the query string of the report, with some choices replaced."""
        chosen = {"by": self.by, "reading": self.reading, "type": self.user_type} | other
        return f"?{self.days.query}" + "".join(f"&{name}={word}" for name, word in chosen.items() if word)


def question(given: Mapping[str, str], today: date) -> Question:
    """Parse the parameters of an address. Raises ranges.BadQuery for invalid ones."""
    return Question(
        ranges.parse(given, Range(today - SHOWN, today), today),
        cast("Kind", ranges.choose(given, "by", KINDS)),
        cast("Reading", ranges.choose(given, "reading", READINGS)),
        ranges.choose(given, "type", [EVERYBODY, *User.Type.values]),
        today,
    )


def type_name(user_type: str) -> str:
    """Return the label of a type of users; "" means all types."""
    return str(User.Type(user_type).label) if user_type in User.Type.values else user_type or _("all")


@dataclass(frozen=True)
class Report:
    """A report. ``is_empty``: the log has no login."""

    question: Question
    activity: list[Activity]
    cohorts: list[Cohort]
    is_empty: bool

    @cached_property
    def days(self) -> list[date]:
        """Return the days of ``activity``."""
        return self.question.days.days

    @property
    def charts(self) -> list[tuple[str, Activity, Chart]]:
        """Return name, numbers and chart, of all types together and then of each type."""
        return [(type_name(found.user_type), found, _chart(self.days, found)) for found in self.activity]

    @property
    def rows(self) -> list[tuple[date, tuple[int, ...]]]:
        """Return the rows of the table, newest day first, with three numbers for each type."""
        numbers = [line for found in self.activity for line in (found.dau, found.wau, found.mau)]
        return list(zip(self.days, zip(*numbers, strict=True), strict=True))[::-1]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a value for JSON."""
        asked = self.question
        return {
            "from": asked.days.first,
            "to": asked.days.last,
            "days": self.days,
            "activity": [asdict(found) | {"user_type": found.user_type or "all"} for found in self.activity],
            "retention": {
                "by": asked.by,
                "reading": asked.reading,
                "user_type": asked.user_type or "all",
                "cohorts": [asdict(cohort) for cohort in self.cohorts],
            },
        }


def report(asked: Question) -> Report:
    """Return the report. Calls ``selectors.unions`` once per 16 days (of range + 29) and once for the cohorts."""
    return Report(
        asked,
        analytics.activity(asked.days.first, asked.days.last, User.Type.values, selectors.unions),
        *_cohorts(asked),
    )


def _cohorts(asked: Question) -> tuple[list[Cohort], bool]:
    since = selectors.first_day()
    found = analytics.retention(
        asked.periods,
        asked.user_type or None,
        selectors.unions,
        since=since,
        reading=asked.reading,
        today=asked.today,
    )
    return found, since is None


def _chart(days: list[date], found: Activity) -> Chart:
    name = _("%(type)s, %(first)s to %(last)s: daily users between %(low)d and %(high)d, on the last day %(now)d") % {
        "type": type_name(found.user_type),
        "first": date_format(days[0]),
        "last": date_format(days[-1]),
        "low": min(found.dau),
        "high": max(found.dau),
        "now": found.dau[-1],
    }
    return chart.chart(days, [("mau", found.mau), ("wau", found.wau), ("dau", found.dau)], name=name)


def period_name(period: Period, by: Kind) -> str:
    """Return the name of a month, or the first day of a week."""
    return month_name(period.first) if by == "month" else date_format(period.first)


def shade(share: float) -> int:
    """Return the shade of a share in the table of cohorts, 0 to 4."""
    return level(round(share * 100), 25 * LEVELS)
