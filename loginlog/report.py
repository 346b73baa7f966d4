"""The staff's report: how many people came, by day and type, and how many of them come back."""

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

SHOWN: Final = timedelta(days=29)  # a month back from today, unless another range is asked for
PERIODS: Final = 12  # weeks or months in the table of cohorts


@dataclass(frozen=True)
class Question:
    """What is asked for. user_type: "" for everybody's cohorts."""

    days: Range
    by: Kind
    reading: Reading
    user_type: str
    today: date

    @property
    def periods(self) -> list[Period]:
        """The periods of the cohorts: they end with the range, or with the present."""
        return periods(min(self.days.last, self.today), self.by, PERIODS)

    def query(self, **other: str) -> str:
        """The address of the same report, or of one that differs in a choice."""
        chosen = {"by": self.by, "reading": self.reading, "type": self.user_type} | other
        return f"?{self.days.query}" + "".join(f"&{name}={word}" for name, word in chosen.items() if word)


def question(given: Mapping[str, str], today: date) -> Question:
    """What an address asks for. Raises ranges.BadQuery, which says what is wrong with it."""
    return Question(
        ranges.parse(given, Range(today - SHOWN, today), today),
        cast("Kind", ranges.choose(given, "by", KINDS)),
        cast("Reading", ranges.choose(given, "reading", READINGS)),
        ranges.choose(given, "type", [EVERYBODY, *User.Type.values]),
        today,
    )


def type_name(user_type: str) -> str:
    """What people call a type of users; "" is everybody."""
    return str(User.Type(user_type).label) if user_type in User.Type.values else user_type or _("all")


@dataclass(frozen=True)
class Report:
    """What the log says to a question. is_empty: nobody has ever logged in."""

    question: Question
    activity: list[Activity]
    cohorts: list[Cohort]
    is_empty: bool

    @cached_property
    def days(self) -> list[date]:
        """The days of ``activity``."""
        return self.question.days.days

    @property
    def charts(self) -> list[tuple[str, Activity, Chart]]:
        """Everybody, then type by type: name, numbers, picture."""
        return [(type_name(found.user_type), found, _chart(self.days, found)) for found in self.activity]

    @property
    def rows(self) -> list[tuple[date, tuple[int, ...]]]:
        """The table beside the charts, newest day first: three numbers for each type."""
        numbers = [line for found in self.activity for line in (found.dau, found.wau, found.mau)]
        return list(zip(self.days, zip(*numbers, strict=True), strict=True))[::-1]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
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
    """The answer. Asks ``selectors.unions`` once for 16 days (of range + 29) and once for the cohorts."""
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
    """A month by its name, a week by its first day."""
    return month_name(period.first) if by == "month" else date_format(period.first)


def shade(share: float) -> int:
    """The shade of a share in the table of cohorts: 0 to 4."""
    return level(round(share * 100), 25 * LEVELS)
