"""The parts of the home page: tiles of figures, and charts with tables."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.formats import date_format, number_format
from django.utils.safestring import SafeString

from loginlog.reports import chart
from loginlog.reports.chart import Chart


class Figure(NamedTuple):
    """A number, and the list behind it ("": the reader of the page may not see it). before: of the period before."""

    label: str
    value: Any
    address: str = ""
    before: Any = None


class Tile(NamedTuple):
    """Numbers about one subject. level: "amber" if staff have something to do."""

    title: str
    figures: Sequence[Figure]
    level: str = ""


class Row(NamedTuple):
    """A day in the table beside a chart."""

    day: date
    value: str
    address: str


class Panel(NamedTuple):
    """A chart of days with its table. unit: the heading of the numbers."""

    id: str
    title: str
    unit: str
    chart: Chart
    rows: Sequence[Row]

    def render(self) -> SafeString:
        """Return the chart and its table."""
        shown = {"chart": self.chart, "rows": self.rows, "heading": self.unit, "table_id": f"{self.id}-table"}
        return render_to_string("loginlog/_chart_and_table.html", shown)


class Series(NamedTuple):
    """The numbers of a chart, and their texts. link: returns the address of the list of a day, or ""."""

    days: Sequence[date]
    numbers: Sequence[int]
    texts: Sequence[str]
    link: Callable[[date], str]


def build_panel(name: str, title: str, unit: str, series: Series) -> Panel:
    """Return the chart of a series. name: a part of its id."""
    titles = [f"{date_format(day)}: {text}" for day, text in zip(series.days, series.texts, strict=True)]
    lines = [("dau", series.numbers)]
    drawn = chart.draw_chart(series.days, lines, name=f"{title}: {titles[-1]}", titles=titles)
    rows = [Row(day, text, series.link(day)) for day, text in zip(series.days, series.texts, strict=True)]
    return Panel(f"home-{name}", title, unit, drawn, rows[::-1])


def link(page: str, **query: str) -> str:
    """Return the address of a list ("shop_order") with these parameters."""
    return f"{reverse(f'admin:{page}_changelist')}?{urlencode(query)}"


def format_count(number: int) -> str:
    """Return a number with separators."""
    return number_format(number, force_grouping=True)
