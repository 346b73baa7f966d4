"""Parts of the pages: ranges, SVG calendars and charts, and CSV, without SQL and Redis."""

import csv
import io
from contextlib import suppress
from datetime import date, timedelta
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from common.csv import write_lines
from loginlog import days as calendar
from loginlog.reports import chart, heatmap, parameters
from loginlog.reports.parameters import BadQuery, Range

TODAY = date(2026, 11, 21)
YEAR = parameters.year_range(2026)


@pytest.mark.parametrize(
    ("given_", "first", "last"),
    [
        ({}, YEAR.first, YEAR.last),
        ({"from": "2024-02-29", "to": "2024-02-29"}, date(2024, 2, 29), date(2024, 2, 29)),
        ({"from": "2023-12-31", "to": "2024-12-30"}, date(2023, 12, 31), date(2024, 12, 30)),  # 366 days
        (
            {"from": " 2026-10-01 "},
            date(2026, 10, 1),
            date(2026, 12, 31),
        ),  # bounded by the last day that a page can show
        ({"to": "1970-02-01"}, date(1970, 1, 1), date(1970, 2, 1)),
    ],
)
def test_a_range_is_parsed_from_the_address(given_: dict[str, str], first: date, last: date) -> None:
    assert parameters.parse_range(given_, YEAR, TODAY) == Range(first, last)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"from": "yesterday"}, "“yesterday” is not a date"),
        ({"to": "2023-02-29"}, "“2023-02-29” is not a date"),
        ({"from": "2026-02-02", "to": "2026-02-01"}, "before the last"),
        ({"from": "2025-01-01", "to": "2026-01-02"}, "at most 366 days"),
        ({"from": "1969-12-31", "to": "1970-01-02"}, "Choose days from 1 Jan 1970 to 31 Dec 2026"),
        ({"to": "0001-01-01"}, "Choose days"),
        ({"from": "9999-12-31"}, "Choose days"),
        ({"to": "2027-01-01"}, "Choose days"),
    ],
)
def test_an_invalid_range_has_a_reason(given_: dict[str, str], words: str) -> None:
    with pytest.raises(BadQuery, match=words.replace(".", "[.]")):
        parameters.parse_range(given_, YEAR, TODAY)


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_input_gives_a_range_or_a_reason(first: str, last: str) -> None:
    with suppress(BadQuery):
        found = parameters.parse_range({"from": first, "to": last}, YEAR, TODAY)
        assert 1 <= len(found.days) <= parameters.MAX_DAYS


def test_a_range_has_its_months() -> None:
    found = Range(date(2023, 12, 30), date(2024, 2, 29)).months
    assert found == [
        (date(2023, 12, 30), date(2023, 12, 31)),
        (date(2024, 1, 1), date(2024, 1, 31)),
        (date(2024, 2, 1), date(2024, 2, 29)),
    ]


@given(st.dates(date(1970, 1, 1), date(2100, 1, 1)), st.integers(0, 27))
def test_a_sheet_has_each_day_below_its_weekday(month: date, extra: int) -> None:
    first, last = calendar.month_of(month), calendar.last_day_of_month(month)
    sheet = heatmap.draw_sheet(first, last, {first: 4}, name="a & b", day_title=str, today=last - timedelta(days=extra))
    svg = ElementTree.fromstring(sheet.picture)
    assert svg.get("aria-label") == "a & b"
    squares = [g for g in svg if g.get("class") != "weekdays"]
    assert [g[0].text for g in squares] == [str(day) for day in calendar.list_days(first, last)]
    for day, square in zip(calendar.list_days(first, last), squares, strict=True):
        assert int(square[1].get("x", "")) // heatmap.SQUARE_SIDE == day.weekday()  # English weeks begin on Monday
    height = int(svg.get("viewBox", "").split()[3])
    assert max(int(square[1].get("y", "")) for square in squares) + heatmap.SQUARE_SIDE - 1 == height
    assert sum("ahead" in (g.get("class") or "") for g in squares) == extra


@pytest.mark.parametrize(("language", "letters"), [("en", "MTWTFSS"), ("zh-hans", "一二三四五六日"), ("de", "MDMDFSS")])
def test_weekdays_follow_the_order_of_the_language(language: str, letters: str) -> None:
    with translation.override(language):
        assert "".join(letter for _, letter in heatmap._build_weekday_labels()) == letters


@pytest.mark.parametrize(
    ("days", "words"),
    [([], ""), ([3], "3"), ([3, 4], "3, 4"), ([1, 2, 3, 7, 30, 31], "1–3, 7, 30, 31"), (range(1, 32), "1–31")],
)
def test_days_are_formatted_as_runs(days: list[int], words: str) -> None:
    assert heatmap.format_days({date(2026, 1, day) for day in days}) == words


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_shades_grow_with_the_count_and_only_zero_is_blank(a: int, b: int) -> None:
    low, high = sorted((a, b))
    assert 0 <= heatmap.compute_level(low, high) <= heatmap.compute_level(high, high) <= 4
    assert (heatmap.compute_level(low, high) == 0) == (low == 0)


@given(st.integers(0, 10**9))
def test_a_scale_has_equal_round_steps_and_covers_the_maximum(most: int) -> None:
    ticks = chart.compute_scale(most)
    assert 2 <= len(ticks) <= 5
    assert ticks[-1] >= most > ticks[-2] or most == 0
    assert len({b - a for a, b in pairwise(ticks)}) == 1


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_a_scale_reaches_below_zero(most: int, lost: int) -> None:
    ticks = chart.compute_scale(most, -lost)
    assert 2 <= len(ticks) <= 6
    assert ticks[0] <= -lost <= 0 <= most <= ticks[-1]
    assert 0 in ticks
    assert len({b - a for a, b in pairwise(ticks)}) == 1


@pytest.mark.parametrize("length", [1, 2, 366])
def test_a_chart_has_a_point_for_each_day(length: int) -> None:
    days = calendar.list_days(TODAY, TODAY + timedelta(days=length - 1))
    made = chart.draw_chart(days, [("dau", list(range(length)))], name="a < b")
    svg = ElementTree.fromstring(made.picture)
    points = (svg.find("polyline").get("points") or "").split()
    assert len(points) == max(length, 2)
    top = made.ticks[0]
    assert [top - int(point.split(",")[1]) for point in points[:length]] == list(range(length))
    assert (made.dates[0], made.dates[-1], svg.get("aria-label")) == (days[0], days[-1], "a < b")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "%x", "＝1+1", "＠SUM(A1)", "　=1"])
def test_text_that_a_spreadsheet_would_execute_is_quoted(text: str) -> None:
    made = "".join(write_lines(["a"], [[text], ["plain"], [-5]]))
    assert list(csv.reader(io.StringIO(made)))[1:] == [["'" + text], ["plain"], ["-5"]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a;=1+1", "a;'=1+1"),
        ('a; "=1', "a;' \"=1"),
        ("a;b;＝1", "a;b;'＝1"),
        ("=1;=2", "'=1;'=2"),
        ("a;b=1", "a;b=1"),
        ("a\n=1", "a\n'=1"),
        ("a\n\n =1\nb", "a\n'\n' =1\nb"),
        ("a\n\nb\n", "a\n\nb\n"),
    ],
)
def test_text_after_a_semicolon_or_in_a_line_is_quoted_as_well(text: str, shown: str) -> None:
    """Spreadsheets in many languages separate cells by semicolons."""
    made = "".join(write_lines(["a"], [[text]]))
    assert list(csv.reader(io.StringIO(made)))[1:] == [[shown]]
