"""Search queries and sort orders for Hypothesis."""

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from catalog.query import And, Node, Not, Or, Tag

# The shop adds the orders by price.
ORDERS = [f"{sign}{name}" for sign in ("", "-") for name in ("popular", "newest", "rating", "title", "price")]
NAMES = [*"abcdef", "young-adult", "-", '"', "a b", "\\", "a&b", "--1-", "武侠"]
FIELDS = {"popular": "popularity", "newest": "year", "title": "title_key", "price": "price", "rating": "rating"}


def sort_positions(order: str, positions: Iterable[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """Return positions sorted as the order ``order`` sorts them; positions without a key come last."""
    is_reversed, base = order.startswith("-"), order.removeprefix("-")
    found = sorted(positions, key=lambda position: position[1], reverse=is_reversed)
    keyed = [position for position in found if position[0] is not None]
    keyed.sort(key=lambda position: position[0], reverse=(base not in ("title", "price")) != is_reversed)
    return keyed + [position for position in found if position[0] is None]


def nodes() -> st.SearchStrategy[Node]:
    """Return a strategy for queries with up to a dozen tags, well within the limits of the parser."""

    def more(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
        return st.one_of(parts.map(And), parts.map(Or), inner.map(Not))

    leaf: st.SearchStrategy[Node] = st.sampled_from(NAMES).map(Tag)
    return st.recursive(leaf, more, max_leaves=12)
