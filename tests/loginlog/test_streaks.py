"""Streaks, compared with a loop over the days."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loginlog.reports import streaks
from tests.support.loginlog import naive

FIRST = date(2023, 12, 20)  # before the end of a year and a leap day
DAYS = st.sets(st.integers(0, 120).map(lambda n: FIRST + timedelta(days=n)))


@given(DAYS)
def test_the_longest_streak_equals_a_loop(days: set[date]) -> None:
    assert streaks.longest(streaks.to_bits(days, FIRST)) == naive.longest(days)


@given(DAYS, st.integers(-1, 130))
def test_a_streak_that_ends_on_a_day_equals_a_loop(days: set[date], at: int) -> None:
    bits = streaks.to_bits(days, FIRST)
    assert streaks.ending_at(bits, at) == naive.streak_until(days, FIRST + timedelta(days=at))


@given(DAYS, st.integers(0, 130))
def test_the_current_streak_may_end_yesterday(days: set[date], at: int) -> None:
    today = FIRST + timedelta(days=at)
    expected = naive.streak_until(days, today) or naive.streak_until(days, today - timedelta(days=1))
    assert streaks.current(streaks.to_bits(days, FIRST), at) == expected


@pytest.mark.parametrize(
    ("first", "length"),
    [(date(2024, 2, 27), 4), (date(2023, 2, 26), 5), (date(2023, 12, 30), 4), (date(2026, 3, 28), 3)],
)
def test_streaks_span_leap_days_month_ends_and_clock_changes(first: date, length: int) -> None:
    days = {first + timedelta(days=n) for n in range(length)}
    assert streaks.longest(streaks.to_bits(days, first - timedelta(days=3))) == length


def test_days_before_the_first_are_ignored() -> None:
    assert streaks.to_bits({FIRST - timedelta(days=1), FIRST}, FIRST) == 1
