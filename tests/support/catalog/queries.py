"""Queries for Hypothesis to try."""

from hypothesis import strategies as st

from catalog.query import And, Node, Not, Or, Tag

ORDERS = ["popular", "newest", "title", "price"]  # the last is the shop's, registered with the catalogue
NAMES = [*"abcdef", "young-adult", "-", '"', "a b", "\\", "a&b", "--1-", "武侠"]


def nodes() -> st.SearchStrategy[Node]:
    """Queries of a dozen names, well within what parse allows."""

    def more(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
        return st.one_of(parts.map(And), parts.map(Or), inner.map(Not))

    leaf: st.SearchStrategy[Node] = st.sampled_from(NAMES).map(Tag)
    return st.recursive(leaf, more, max_leaves=12)
