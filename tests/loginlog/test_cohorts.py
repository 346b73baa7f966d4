"""Cohorts, compared with sets of active users."""

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loginlog.reports import cohorts, tables
from loginlog.reports.cohorts import PERIOD_KINDS, READINGS, Period, PeriodKind, Reading
from tests.support.loginlog import naive
from tests.support.loginlog.naive import Mark, bitmap

LAST = date(2024, 3, 14)  # a Thursday shortly after a leap day
MARKS = st.sets(
    st.tuples(
        st.integers(0, 150).map(lambda n: LAST - timedelta(days=n)), st.sampled_from(["client"]), st.integers(0, 80)
    ),
    max_size=60,
)


def made(marks: set[Mark], kind: PeriodKind, reading: Reading, today: date = LAST) -> list[cohorts.Cohort]:
    spans = cohorts.list_periods(LAST, kind, 4)
    before = tables.build_table([bitmap(naive.active(marks, date.min, spans[0].first - timedelta(days=1)))])
    active = tables.build_table([bitmap(naive.active(marks, span.first, span.last)) for span in spans])
    return cohorts.compute_cohorts(spans, before, active, reading, today)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("kind", PERIOD_KINDS)
@given(marks=MARKS)
@settings(max_examples=50)
def test_every_cell_equals_sets(kind: PeriodKind, reading: Reading, marks: set[Mark]) -> None:
    spans = cohorts.list_periods(LAST, kind, 4)
    for i, cohort in enumerate(made(marks, kind, reading)):
        earlier = naive.active(marks, date.min, spans[i].first - timedelta(days=1))
        new = naive.active(marks, spans[i].first, spans[i].last) - earlier
        assert cohort.size == len(new)
        expected = [
            naive.count_returning(marks, new, later.first, later.last if reading == "on" else spans[-1].last)
            for later in spans[i:]
        ]
        assert [cell.count for cell in cohort.cells] == expected


@given(MARKS)
def test_every_active_user_is_in_one_cohort(marks: set[Mark]) -> None:
    spans = cohorts.list_periods(LAST, "week", 4)
    new = naive.active(marks, spans[0].first, LAST) - naive.active(marks, date.min, spans[0].first - timedelta(days=1))
    assert sum(cohort.size for cohort in made(marks, "week", "on")) == len(new)


def test_the_first_cell_is_the_whole_cohort_and_an_empty_one_has_no_shares() -> None:
    found = made({(LAST, "client", 7)}, "week", "on")
    assert [cohort.size for cohort in found] == [0, 0, 0, 1]
    assert found[3].cells == [cohorts.Cell(1, 1.0, open=True)]
    assert [cell.share for cell in found[0].cells] == [0.0] * 4


def test_a_skipped_period_counts_only_in_the_reading_after() -> None:
    marks: set[Mark] = {(LAST - timedelta(days=14), "client", 5), (LAST, "client", 5)}
    assert [cell.count for cell in made(marks, "week", "on")[1].cells] == [1, 0, 1]
    assert [cell.count for cell in made(marks, "week", "after")[1].cells] == [1, 1, 1]


def test_a_late_mark_moves_a_user_to_an_earlier_cohort() -> None:
    marks: set[Mark] = {(LAST, "client", 5)}
    assert [cohort.size for cohort in made(marks, "week", "on")] == [0, 0, 0, 1]
    marks.add((LAST - timedelta(days=7), "client", 5))
    assert [cohort.size for cohort in made(marks, "week", "on")] == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("today", "open_ones"),
    [(date(2024, 3, 14), [0, 0, 0, 1]), (date(2024, 3, 17), [0, 0, 0, 1]), (date(2024, 3, 18), [0, 0, 0, 0])],
)
def test_a_period_is_open_until_its_last_day_is_over(today: date, open_ones: list[int]) -> None:
    found = made(set(), "week", "on", today)
    assert [cohort.open for cohort in found] == list(map(bool, open_ones))
    assert [cell.open for cell in found[0].cells] == list(map(bool, open_ones))


@pytest.mark.parametrize(
    ("day", "kind", "first", "last"),
    [
        (date(2024, 2, 29), "month", date(2024, 2, 1), date(2024, 2, 29)),
        (date(2023, 2, 1), "month", date(2023, 2, 1), date(2023, 2, 28)),
        (date(2024, 12, 31), "month", date(2024, 12, 1), date(2024, 12, 31)),
        (date(2024, 12, 31), "week", date(2024, 12, 30), date(2025, 1, 5)),
        (date(2026, 3, 29), "week", date(2026, 3, 23), date(2026, 3, 29)),
    ],
)
def test_periods_end_where_the_calendar_says(day: date, kind: PeriodKind, first: date, last: date) -> None:
    assert cohorts.find_period(day, kind) == Period(first, last)


@pytest.mark.parametrize("kind", PERIOD_KINDS)
def test_periods_follow_one_another_without_a_gap(kind: PeriodKind) -> None:
    found = cohorts.list_periods(date(2024, 3, 1), kind, 14)
    assert len(found) == 14
    assert all(a.last + timedelta(days=1) == b.first for a, b in pairwise(found))
