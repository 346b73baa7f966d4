"""Recommendations compared with a direct computation of the formulas."""

import math
import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.recommend import also_bought
from shop.recommend.also_bought import MIN_COMMON_BUYERS, find_also_bought
from shop.recommend.bought_after_view import MIN_VIEWERS, WINDOW_SECONDS, find_bought_after_view, wilson_lower_bound
from shop.recommend.history import MAX_PURCHASES_PER_CUSTOMER, ProductViews, Purchases

DAY = 86_400
Rows = list[tuple[int, int, int]]  # user, product, time


def _purchases(rows: Rows) -> Purchases:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return Purchases.of(columns[0], columns[1], columns[2])


def _looks(rows: list[tuple[int, int]]) -> ProductViews:
    columns = np.array(sorted(rows), np.int64).reshape(-1, 2).T
    return ProductViews(columns[0], columns[1])


def _also(rows: Rows, product: int) -> list[tuple[int, float, int]]:
    """Return the ids of the products recommended with this product."""
    history = _purchases(rows)
    number = int(np.searchsorted(history.products, product))
    return [(int(history.products[other]), score, both) for other, score, both in find_also_bought(history, number)]


def _also_one_by_one(rows: Rows, product: int) -> dict[int, tuple[float, int]]:
    """Return the same by the formula, one buyer at a time."""
    baskets: dict[int, set[int]] = {}
    for person, what, _ in rows:
        baskets.setdefault(person, set()).add(what)
    shared = [basket for basket in baskets.values() if len(basket) > 1]
    everything = sum(map(len, shared)) or 1
    buyers = [basket for basket in baskets.values() if product in basket]
    found = {}
    for other in {what for _, what, _ in rows} - {product}:
        both = sum(other in basket for basket in buyers)
        share = sum(other in basket for basket in shared) / everything
        expected = sum(1 - (1 - share) ** (len(basket) - 1) for basket in buyers)
        if both >= MIN_COMMON_BUYERS and both > expected:
            found[other] = ((both - expected) / (expected**0.2 * len(buyers) ** 0.8), both)
    return found


@given(st.integers(0, 2**32))
def test_also_bought_matches_the_formula(seed: int) -> None:
    chance = random.Random(seed)
    rows = [(chance.randrange(40), int(12 * chance.random() ** 2), at) for at in range(chance.randrange(400))]
    for product in {what for _, what, _ in rows}:
        found, expected = _also(rows, product), _also_one_by_one(rows, product)
        assert {other: both for other, _, both in found} == {other: both for other, (_, both) in expected.items()}
        for other, score, _ in found:
            assert score == pytest.approx(expected[other][0], abs=1e-5)
        assert [score for _, score, _ in found] == sorted((score for _, score, _ in found), reverse=True)


def test_fewer_than_five_common_buyers_are_ignored() -> None:
    lonely = [(person, 90, 0) for person in range(100, 160)]
    four = [(person, what, 0) for person in range(4) for what in (1, 2)] + lonely
    assert _also(four, 1) == []
    assert [other for other, *_ in _also([*four, (50, 1, 0), (50, 2, 0)], 1)] == [2]


def test_a_bestseller_is_not_recommended_with_every_book() -> None:
    everybody = [(person, 1, 0) for person in range(300)]
    readers = [(person, what, 0) for person in range(10) for what in (2, 3)]
    assert [other for other, *_ in _also([*everybody, *readers], 2)] == [3, 1]  # other customers buy nothing else
    others = [(person, 100 + person % 30, 0) for person in range(10, 300)]
    (first, much, _), (second, little, _) = _also([*everybody, *readers, *others], 2)
    assert (first, second) == (3, 1)
    assert much > 2 * little


def test_buying_twice_counts_once() -> None:
    rows = [(person, what, 0) for person in range(8) for what in (1, 2)] + [(n, 9, 0) for n in range(20, 60)]
    again = [(1, 2, at) for at in range(50)]
    assert _also(rows, 1) == _also([*rows, *again], 1)


def test_at_most_64_products_are_recommended() -> None:
    rows = [(person, what, 0) for person in range(10) for what in range(80)] + [(n, 99, 0) for n in range(20, 900)]
    found = _also(rows, 0)
    assert [other for other, *_ in found] == list(range(1, 65))  # among equals, the lower id


def test_baskets_beyond_one_batch_count(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    rows = [(chance.randrange(60), int(9 * chance.random() ** 2), 0) for _ in range(400)]
    expected = _also(rows, 0)
    monkeypatch.setattr(also_bought, "BUYERS_PER_BATCH", 7)
    assert _also(rows, 0) == expected != []


def test_only_the_latest_thousand_purchases_of_a_customer_count() -> None:
    history = _purchases([(1, what, what) for what in range(MAX_PURCHASES_PER_CUSTOMER + 5)] + [(2, 0, 0)])
    assert sorted(history.products[history.baskets.of(0)]) == list(range(5, MAX_PURCHASES_PER_CUSTOMER + 5))
    assert list(history.products[history.baskets.of(1)]) == [0]


def test_an_empty_history_has_no_recommendations() -> None:
    history = _purchases([])
    assert len(history) == 0
    assert find_bought_after_view(history, _looks([(n, 0) for n in range(60)]), 1) == []


# --- after a view ---------------------------------------------------------------------------------


def _after(rows: Rows, looks: list[tuple[int, int]], product: int) -> list[tuple[int, int, int]]:
    history = _purchases(rows)
    found = find_bought_after_view(history, _looks(looks), product)
    assert all(one.score == pytest.approx(_wilson(one.percent, one.viewers), abs=0.02) for one in found)
    return [(int(history.products[one.product]), one.percent, one.viewers) for one in found]


def _wilson(percent: float, viewers: int) -> float:
    p, z = percent / 100, 1.96
    middle, root = p + z * z / (2 * viewers), math.sqrt(p * (1 - p) / viewers + (z / (2 * viewers)) ** 2)
    return (middle - z * root) / (1 + z * z / viewers)


def test_the_share_counts_purchases_within_a_week_of_the_view() -> None:
    assert WINDOW_SECONDS == 7 * DAY
    looks = [(person, 1000) for person in range(MIN_VIEWERS)]
    rows = [(person, 7, 1000 + WINDOW_SECONDS) for person in range(20)]
    rows += [(person, 8, 1001) for person in range(5)]
    rows += [(person, 8, 1000 + WINDOW_SECONDS + 1) for person in range(5, 50)]  # too late
    rows += [(person, 9, 999) for person in range(50)]  # before
    rows += [(person, 3, 1001) for person in range(50)]  # the viewed book itself
    rows += [(person, 7, 1001) for person in range(1000, 1100)]  # never viewed it
    assert _after(rows, looks, 3) == [(7, 40, MIN_VIEWERS), (8, 10, MIN_VIEWERS)]


def test_fewer_than_fifty_viewers_are_ignored() -> None:
    assert MIN_VIEWERS == 50
    rows = [(person, 7, 1000) for person in range(60)]
    forty_nine = [(person, at) for person in range(MIN_VIEWERS - 1) for at in (0, 500)]
    assert _after(rows, forty_nine, 1) == []
    assert _after(rows, [*forty_nine, (999, 0)], 1) == [(7, 98, MIN_VIEWERS)]


def test_repeated_views_and_purchases_count_once() -> None:
    looks = [(person, day * DAY) for person in range(MIN_VIEWERS) for day in range(10)]
    rows = [(person, 7, day * DAY + 5) for person in range(10) for day in range(10)]
    assert _after(rows, looks, 1) == [(7, 20, MIN_VIEWERS)]


def test_a_later_view_counts() -> None:
    looks = [(person, at) for person in range(MIN_VIEWERS) for at in (0, 100 * DAY)]
    rows = [(person, 7, 101 * DAY) for person in range(25)]
    assert _after(rows, looks, 1) == [(7, 50, MIN_VIEWERS)]


def test_shares_below_half_a_percent_are_left_out() -> None:
    looks = [(person, 0) for person in range(1000)]
    rows = [(person, 7, 1) for person in range(4)] + [(person, 8, 1) for person in range(5)]
    assert _after(rows, looks, 1) == [(8, 1, 1000)]


@given(st.integers(0, 2**32))
def test_shares_match_a_direct_count(seed: int) -> None:
    chance = random.Random(seed)
    looks = [(chance.randrange(80), chance.randrange(30 * DAY)) for _ in range(200)]
    rows = [(chance.randrange(100), chance.randrange(6), chance.randrange(40 * DAY)) for _ in range(200)]
    people = {person for person, _ in looks}
    bought_by: dict[int, set[int]] = {}
    for person, at in looks:
        for who, what, when in rows:
            if who == person and 0 <= when - at <= WINDOW_SECONDS and what != 0:
                bought_by.setdefault(what, set()).add(person)
    expected = {what: len(who) for what, who in bought_by.items() if len(people) >= MIN_VIEWERS and who}
    history = _purchases(rows)
    found = {int(history.products[one.product]): one for one in find_bought_after_view(history, _looks(looks), 0)}
    assert found.keys() == expected.keys()
    for what, one in found.items():
        assert one.score == pytest.approx(wilson_lower_bound(expected[what], len(people)), abs=1e-6)


def test_a_share_of_few_viewers_ranks_lower() -> None:
    assert (
        wilson_lower_bound(50, 50)
        > wilson_lower_bound(40, 50)
        > wilson_lower_bound(4, 5)
        > wilson_lower_bound(2, 50)
        > wilson_lower_bound(0, 50)
        == 0
    )
    assert wilson_lower_bound(10, 50) == pytest.approx(0.1124, abs=1e-4)  # a value from a textbook


def test_a_view_counts_at_most_one_purchase_of_a_product() -> None:
    """All pairs of moments at the limits of the week."""
    looks = [(person, 0) for person in range(MIN_VIEWERS)]
    for early, late in combinations((0, 1, WINDOW_SECONDS - 1, WINDOW_SECONDS), 2):
        assert _after([(1, 7, early), (1, 7, late)], looks, 1) == [(7, 2, MIN_VIEWERS)]
