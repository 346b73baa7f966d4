"""Orders: pages are what sorting everything would give."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from catalog import orders
from catalog.orders import Order

IDS = st.integers(1, 2**40)  # beyond what 32 bits hold
KEYS = st.one_of(st.integers(-5, 5), st.just(float("inf")))
PLACED = st.dictionaries(IDS, KEYS, min_size=1, max_size=40)


def _page(placed: dict[int, Any], books: set[int], after: Any, limit: int) -> list[Any]:
    found = sorted((key, pk) for pk, key in placed.items() if pk in books)
    return [place for place in found if after is None or place > after][:limit]


@given(placed=PLACED, data=st.data())
def test_a_page_is_what_sorting_everything_gives(placed: dict[int, Any], data: st.DataObject) -> None:
    books = data.draw(st.sets(st.sampled_from(sorted(placed))))
    after = data.draw(st.none() | st.tuples(KEYS, IDS) | st.sampled_from([(k, pk) for pk, k in placed.items()]))
    limit = data.draw(st.integers(1, 6))
    assert Order(placed).page(BitMap64(books), after, limit) == _page(placed, books, after, limit)


@given(first=PLACED, then=PLACED, gone=st.sets(IDS, max_size=5), limit=st.integers(1, 50))
def test_changes_leave_it_as_if_it_were_new(
    first: dict[int, Any], then: dict[int, Any], gone: set[int], limit: int
) -> None:
    order = Order(first)
    for pk, key in then.items():
        order.put(pk, key)
    left = {pk: key for pk, key in (first | then).items() if pk not in gone}
    for pk in gone:
        order.drop(pk)
    books = BitMap64(left)
    assert order.keys == left
    assert order.page(books, None, limit) == _page(left, set(books), None, limit)


def test_results_that_all_stand_at_the_end_are_found_without_walking_there() -> None:
    placed = {pk: pk for pk in range(1, 20_001)}
    order = Order(placed)
    last = range(15_001, 20_001)
    steps: list[int] = []
    walk = order._walk

    def counted(books: BitMap64, start: int, end: int, limit: int) -> list[Any] | None:
        steps.append(end - start)
        return walk(books, start, end, limit)

    order._walk = counted  # type: ignore[method-assign]
    assert order.page(BitMap64(last), None, 20) == [(pk, pk) for pk in range(15_001, 15_021)]
    assert steps
    assert sum(steps) * orders.WALK < 5000 * orders.PLACE
