"""Orders: pages equal the result of sorting everything."""

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from catalog.local import orders
from catalog.local.orders import Order

pytestmark = pytest.mark.also_on("sqlite")

IDS = st.integers(1, 2**40)  # more than 32 bits
KEYS = st.one_of(st.integers(-5, 5), st.just(float("inf")))
PLACED = st.dictionaries(IDS, KEYS, min_size=1, max_size=40)


def _page(placed: dict[int, Any], books: set[int], after: Any, limit: int, *, is_reversed: bool = False) -> list[Any]:
    def rank(place: Any) -> Any:
        key, pk = place
        return (key == inf, 0 if key == inf else -key, -pk) if is_reversed else place

    found = sorted(((key, pk) for pk, key in placed.items() if pk in books), key=rank)
    return [place for place in found if after is None or rank(place) > rank(after)][:limit]


@given(placed=PLACED, data=st.data())
def test_a_page_equals_sorting_everything(placed: dict[int, Any], data: st.DataObject) -> None:
    books = data.draw(st.sets(st.sampled_from(sorted(placed))))
    after = data.draw(st.none() | st.tuples(KEYS, IDS) | st.sampled_from([(k, pk) for pk, k in placed.items()]))
    limit = data.draw(st.integers(1, 6))
    for way in (False, True):
        expected = _page(placed, books, after, limit, is_reversed=way)
        assert Order(placed).page(BitMap64(books), after, limit, is_reversed=way) == expected


@given(placed=PLACED, low=st.none() | st.integers(-6, 6), high=st.none() | st.integers(-6, 6))
def test_a_range_equals_a_check_of_each_key(placed: dict[int, Any], low: int | None, high: int | None) -> None:
    expected = {
        pk for pk, key in placed.items() if key != inf and (low is None or key >= low) and (high is None or key <= high)
    }
    assert set(Order(placed).find_between(low, high)) == expected


@given(first=PLACED, then=PLACED, gone=st.sets(IDS, max_size=5), limit=st.integers(1, 50))
def test_a_changed_order_equals_a_fresh_one(
    first: dict[int, Any], then: dict[int, Any], gone: set[int], limit: int
) -> None:
    order = Order(first)
    for pk, key in then.items():
        order.find_between(None, None)  # fills the cache of ranges
        order.put(pk, key)
    left = {pk: key for pk, key in (first | then).items() if pk not in gone}
    for pk in gone:
        order.drop(pk)
    books = BitMap64(left)
    assert order.keys == left
    assert order.page(books, None, limit) == _page(left, set(books), None, limit)
    assert set(order.find_between(None, None)) == {pk for pk, key in left.items() if key != inf}


def test_results_at_the_end_are_found_without_a_long_walk() -> None:
    placed = {pk: pk for pk in range(1, 20_001)}
    order = Order(placed)
    last = range(15_001, 20_001)
    steps: list[int] = []
    walk = order._walk

    def counted(books: BitMap64, start: int, end: int, limit: int, *, is_reversed: bool) -> list[Any] | None:
        steps.append(end - start)
        return walk(books, start, end, limit, is_reversed=is_reversed)

    order._walk = counted  # type: ignore[method-assign]
    assert order.page(BitMap64(last), None, 20) == [(pk, pk) for pk in range(15_001, 15_021)]
    assert steps
    assert sum(steps) * orders.WALK_COST < 5000 * orders.SORT_COST
