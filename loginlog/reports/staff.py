"""The login report for staff: active users by day and type, and retention."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any, Final, cast

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import User
from loginlog import selectors
from loginlog.reports import analytics, chart, parameters
from loginlog.reports.analytics import ALL_TYPES, Activity
from loginlog.reports.chart import Chart
from loginlog.reports.cohorts import PERIOD_KINDS, READINGS, Cohort, Period, PeriodKind, Reading, list_periods
from loginlog.reports.heatmap import MAX_LEVEL, compute_level, format_month
from loginlog.reports.parameters import Range

DEFAULT_RANGE: Final = timedelta(days=29)  # the default range ends today
COHORT_PERIODS: Final = 12  # weeks or months in the table of cohorts


@dataclass(frozen=True)
class ReportQuery:
    """The parameters of a report. ``user_type`` "" means cohorts of all types."""

    days: Range
    by: PeriodKind
    reading: Reading
    user_type: str
    today: date

    @property
    def periods(self) -> list[Period]:
        """Return the periods of the cohorts, which end with the range or today."""
        return list_periods(min(self.days.last, self.today), self.by, COHORT_PERIODS)

    def query(self, **other: str) -> str:
        """Return the query string of the report, with some choices replaced."""
        text = f"?{self.days.query}"
        chosen = {"by": self.by, "reading": self.reading, "type": self.user_type} | other
        for name, word in chosen.items():
            if word:
                text += f"&{name}={word}"
        return text


def parse_query(given: Mapping[str, str], today: date) -> ReportQuery:
    """Parse the parameters of an address. Raises ranges.BadQuery for invalid ones."""
    return ReportQuery(
        parameters.parse_range(given, Range(today - DEFAULT_RANGE, today), today),
        cast("PeriodKind", parameters.parse_choice(given, "by", PERIOD_KINDS)),
        cast("Reading", parameters.parse_choice(given, "reading", READINGS)),
        parameters.parse_choice(given, "type", [ALL_TYPES, *User.Type.values]),
        today,
    )


def format_type(user_type: str) -> str:
    """Return the label of a type of users; "" means all types."""
    if user_type in User.Type.values:
        return str(User.Type(user_type).label)
    return user_type or _("all")


@dataclass(frozen=True)
class Report:
    """A report. ``is_empty``: the log has no login."""

    question: ReportQuery
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
        return [(format_type(found.user_type), found, _draw_chart(self.days, found)) for found in self.activity]

    @property
    def rows(self) -> list[tuple[date, tuple[int, ...]]]:
        """Return the rows of the table, newest day first, with three numbers for each type."""
        rows = []
        for i, day in enumerate(self.days):
            numbers: list[int] = []
            for found in self.activity:
                numbers += (found.dau[i], found.wau[i], found.mau[i])
            rows.append((day, tuple(numbers)))
        return rows[::-1]

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


def build_report(asked: ReportQuery) -> Report:
    """Return the report. Calls ``selectors.unions`` once per 16 days (of range + 29) and once for the cohorts."""
    activity = analytics.compute_activity(asked.days.first, asked.days.last, User.Type.values, selectors.read_unions)
    since = selectors.find_first_day()
    cohorts = analytics.compute_retention(
        asked.periods,
        asked.user_type or None,
        selectors.read_unions,
        since=since,
        reading=asked.reading,
        today=asked.today,
    )
    return Report(asked, activity, cohorts, is_empty=since is None)


def _draw_chart(days: list[date], found: Activity) -> Chart:
    name = _("%(type)s, %(first)s to %(last)s: daily users between %(low)d and %(high)d, on the last day %(now)d") % {
        "type": format_type(found.user_type),
        "first": date_format(days[0]),
        "last": date_format(days[-1]),
        "low": min(found.dau),
        "high": max(found.dau),
        "now": found.dau[-1],
    }
    return chart.draw_chart(days, [("mau", found.mau), ("wau", found.wau), ("dau", found.dau)], name=name)


def format_period(period: Period, by: PeriodKind) -> str:
    """Return the name of a month, or the first day of a week."""
    return format_month(period.first) if by == "month" else date_format(period.first)


def compute_shade(share: float) -> int:
    """Return the shade of a share in the table of cohorts, 0 to 4."""
    return compute_level(round(share * 100), 25 * MAX_LEVEL)
