"""Facets: both methods give exact counts."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from catalog.local.facets import find_facets_by_counting, find_facets_by_threshold

NAMES = st.sampled_from(["a", "b", "B", "ä", "武", "-", "c d", "e", "f"])
SHELVES = st.dictionaries(st.integers(1, 2**40), st.sets(NAMES), max_size=30)


@given(shelf=SHELVES, data=st.data())
def test_both_methods_equal_counting_everything(shelf: dict[int, set[str]], data: st.DataObject) -> None:
    result = data.draw(st.sets(st.sampled_from(sorted(shelf)))) if shelf else set()
    without, limit = data.draw(st.sets(NAMES, max_size=3)), data.draw(st.integers(1, 5))
    counts = Counter(name for pk in result for name in shelf[pk] if name not in without)
    expected = sorted(counts.items(), key=lambda facet: (-facet[1], facet[0]))[:limit]

    members: dict[str, BitMap64] = {}
    for pk, names in shelf.items():
        for name in names:
            members.setdefault(name, BitMap64()).add(pk)
    sizes = sorted((-len(books), name) for name, books in members.items())

    assert find_facets_by_counting((shelf[pk] for pk in result), limit, without) == expected
    assert find_facets_by_threshold(BitMap64(result), sizes, members, limit, without) == expected


def test_tags_too_rare_to_matter_are_not_examined() -> None:
    """Ten tags are on every book, and a hundred tags on one book each: the threshold ends the search."""
    looked_at: list[str] = []

    class Members(dict[str, BitMap64]):
        def __getitem__(self, name: str) -> BitMap64:
            looked_at.append(name)
            return super().__getitem__(name)

    members = Members({f"all {n}": BitMap64(range(100)) for n in range(10)})
    members |= {f"one {n:03}": BitMap64([n]) for n in range(100)}
    sizes = sorted((-len(books), name) for name, books in members.items())
    assert len(find_facets_by_threshold(BitMap64(range(50)), sizes, members, 10, ())) == 10
    assert len(looked_at) == 10
