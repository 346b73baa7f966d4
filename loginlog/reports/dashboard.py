"""The login log on the admin's start page: a line chart, a year of days, and retention."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from loginlog import selectors
from loginlog.days import next_month
from loginlog.reports import analytics, chart, heatmap
from loginlog.reports.chart import Chart
from loginlog.reports.cohorts import Cohort, Period, PeriodKind, Reading, list_periods
from loginlog.reports.heatmap import Sheet
from loginlog.reports.parameters import Range
from loginlog.storage.reading import Span

CHART_DAYS: Final = 90  # days
COHORT_WEEKS: Final = 8  # cohorts


@dataclass(frozen=True)
class Month:
    """A month of the whole site. ``average`` counts users per day over the days so far."""

    sheet: Sheet
    average: float
    busiest: date | None
    most: int


class Day(NamedTuple):
    """The number of users on a day."""

    day: date
    value: int


@dataclass(frozen=True)
class Dashboard:
    """The part of the home page. Months and days are newest first.

    ``by`` and ``reading`` concern the cohorts; ``is_empty``: the log has no login.
    """

    line: Chart
    days: list[Day]
    months: list[Month]
    cohorts: list[Cohort]
    periods: list[Period]
    is_empty: bool
    by: PeriodKind = "week"
    reading: Reading = "on"


def build_dashboard(now: date) -> Dashboard:
    """Return the dashboard up to the day ``now``.

    Reads the counts of a year in one call, and the bitmaps of the cohorts in another.
    """
    # Twelve months. The first day of the month, because a year ago 29 February does not exist.
    shown = Range(next_month(now.replace(year=now.year - 1, day=1)), now)
    counts = selectors.count_active_in_spans([Span(day, day) for day in shown.days])
    weeks = list_periods(now, "week", COHORT_WEEKS)
    since = selectors.find_first_day()
    cohorts = analytics.compute_retention(weeks, None, selectors.read_unions, since=since, reading="on", today=now)
    numbers = dict(zip(shown.days, counts, strict=True))
    chart_days = shown.days[-CHART_DAYS:]
    months = [_build_month(first, last, numbers, max(counts), now) for first, last in shown.months]
    return Dashboard(
        _draw_line(chart_days, counts[-CHART_DAYS:]),
        [Day(day, numbers[day]) for day in reversed(chart_days)],
        months[::-1],
        cohorts,
        weeks,
        is_empty=since is None,
    )


def _draw_line(days: list[date], counts: Sequence[int]) -> Chart:
    name = _("Daily users, %(first)s to %(last)s: between %(low)d and %(high)d, on the last day %(now)d") % {
        "first": date_format(days[0]),
        "last": date_format(days[-1]),
        "low": min(counts),
        "high": max(counts),
        "now": counts[-1],
    }
    titles = [f"{date_format(day)}: {count}" for day, count in zip(days, counts, strict=True)]
    return chart.draw_chart(days, [("dau", counts)], name=name, titles=titles)


def _build_month(first: date, last: date, numbers: dict[date, int], most: int, now: date) -> Month:
    own = {day: numbers[day] for day in Range(first, last).days}
    average = sum(own.values()) / len(own)
    busiest = max(own, key=lambda day: own[day])
    most_of_month = own[busiest]

    def title(day: date) -> str:
        users = ngettext("%(n)s user", "%(n)s users", own[day])
        return f"{date_format(day)}: {users % {'n': number_format(own[day], force_grouping=True)}}"

    name = _("%(month)s: %(average)s users a day") % {
        "month": heatmap.format_month(first),
        "average": number_format(average, 1, force_grouping=True),
    }
    levels = {day: heatmap.compute_level(count, most) for day, count in own.items()}
    sheet = heatmap.draw_sheet(first, last, levels, name=name, day_title=title, today=now)
    return Month(sheet, average, busiest if most_of_month else None, most_of_month)
