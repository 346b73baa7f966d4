"""Tables of bitmaps, compared with Python's sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loginlog.reports import tables as windows
from tests.support.loginlog.naive import bitmap

DAYS = st.lists(st.sets(st.integers(0, 300), max_size=30), min_size=1, max_size=45)


@given(DAYS)
def test_counts_are_the_sizes_of_the_sets(days: list[set[int]]) -> None:
    assert windows.count_bits(windows.build_table([bitmap(day) for day in days])) == [len(day) for day in days]


@pytest.mark.parametrize("width", [1, 2, 5, 7, 30])
@given(days=DAYS)
def test_rolling_is_the_union_of_the_last_days(width: int, days: list[set[int]]) -> None:
    rows = windows.build_table([bitmap(day) for day in days])
    expected = [len(set().union(*days[max(0, i - width + 1) : i + 1])) for i in range(len(days))]
    assert windows.count_bits(windows.compute_rolling(rows, width)) == expected


@pytest.mark.parametrize("words", [1, 2, 3, windows.BLOCK_WORDS])
@given(days=DAYS, shown=st.integers(0, 45))
def test_counting_block_by_block_changes_nothing(words: int, days: list[set[int]], shown: int) -> None:
    rows, shown = windows.build_table([bitmap(day) for day in days]), min(shown, len(days))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "BLOCK_WORDS", words)
        found = windows.count_rolling(rows, 7, shown)
    assert found == windows.count_bits(windows.compute_rolling(rows, 7))[len(days) - shown :]


@given(DAYS, DAYS)
def test_a_union_of_tables_counts_each_user_once(left: list[set[int]], right: list[set[int]]) -> None:
    size = min(len(left), len(right))
    tables = [windows.build_table([bitmap(day) for day in days[:size]]) for days in (left, right)]
    expected = [len(a | b) for a, b in zip(left[:size], right[:size], strict=True)]
    assert windows.count_bits(windows.union(tables)) == expected


def test_missing_and_short_bitmaps_are_padded_with_zeros() -> None:
    rows = windows.build_table([None, b"", bitmap({0}), bitmap({64})])
    assert rows.shape == (4, 2)
    assert windows.count_bits(rows) == [0, 0, 1, 1]


def test_tables_of_different_widths_are_stacked() -> None:
    rows = windows.stack([windows.build_table([bitmap({3})]), windows.build_table([bitmap({200})])])
    assert windows.count_bits(rows) == [1, 1]
    assert windows.count_bits(windows.compute_rolling(rows, 2)) == [1, 2]


def test_arguments_are_not_modified() -> None:
    rows = windows.build_table([bitmap({1}), bitmap({2})])
    kept = rows.copy()
    windows.compute_rolling(rows, 2)
    windows.union([rows, rows[::-1]])
    assert np.array_equal(rows, kept)
