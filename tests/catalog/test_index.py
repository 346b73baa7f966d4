"""The copy of the catalogue gives the same answers as a check of each book."""

from collections import Counter
from itertools import chain
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from catalog import keys, query
from catalog.listing import sql
from catalog.listing.answers import MAX_FACETS
from catalog.local import index
from catalog.local.index import CatalogIndex
from catalog.mirrors import BookMirror
from catalog.query import Node, parse
from catalog.values.collation import make_sort_key
from mirror import Mirror
from mirror.comparison.plan import difference, encode_feed
from mirror.declare.entries import Contribution, Member
from mirror.read.loading import decode_feed
from shop.mirrors import ProductMirror
from tests.support.catalog.queries import FIELDS, NAMES, ORDERS, nodes, sort_positions

Records = dict[int, dict[str, Any]]
YEARS = st.none() | st.integers(-400, 2030)
TITLES = st.sampled_from(["", "a", "A", "b c", "é", "鹿鼎记", "𝔘"])
MIRRORS: list[Mirror[Any]] = [BookMirror(), ProductMirror()]
IDS = st.integers(1, 2**40) | st.integers(1, 9)
RECORDS = st.fixed_dictionaries(
    {
        "year": YEARS,
        "sort_title": TITLES,
        "popularity": st.integers(0, 3) | st.just(2**60 + 1),
        "rating": st.none() | st.sampled_from([1.5, 4.25]),
        "language": st.sampled_from(["", "eng", "en-US", "fre"]),
        "available": st.integers(0, 2),
        "author_ids": st.lists(st.integers(1, 3), unique=True),
        "title": st.sampled_from(["x", "x (y, #1)", "z (Y, #1.5; w, #2)", "x (y, #1-2)"]),
        "price": st.none() | st.integers(0, 3),
        "tags": st.lists(st.sampled_from(NAMES), unique=True).map(sorted),
    }
)
PLAIN: dict[str, Any] = {"rating": None, "language": "", "available": 0, "author_ids": [], "title": "x"}
SHELVES = st.dictionaries(IDS, RECORDS, max_size=12)


def _numbered(shelf: Records) -> Records:
    return {pk: {**record, "id": pk} for pk, record in shelf.items()}


def _index(shelf: Records) -> CatalogIndex:
    records = _numbered(shelf).values()
    return CatalogIndex(chain.from_iterable(_placed(mirror, record) for mirror in MIRRORS for record in records))


def _placed(mirror: Mirror, record: dict[str, Any] | None) -> list[Contribution]:
    """Return the entries of a mirror for a book. None: the book does not exist."""
    if record is None:
        return []
    is_sold = record.get("price") is not None
    return list(mirror.index(str(record["id"]), record if mirror is MIRRORS[0] else {**record, "is_active": is_sold}))


def _matching(shelf: Records, node: Node | None) -> set[int]:
    def having(name: str) -> set[int]:
        return {pk for pk, record in shelf.items() if name in record["tags"]}

    return set(shelf) if node is None else query.evaluate(node, having, lambda: set(shelf))


def _sorted(shelf: Records, order: str, pks: set[int]) -> list[sql.Position]:
    def key(record: dict[str, Any]) -> Any:
        field = FIELDS[order.removeprefix("-")]
        return make_sort_key(record["sort_title"]) if field == "title_key" else record[field]

    return sort_positions(order, ((key(shelf[pk]), pk) for pk in pks))


def _agrees(found_in: CatalogIndex, shelf: Records, node: Node | None, order: str) -> None:
    """Assert that count, facets and all pages equal the results of checking each book."""
    pks = _matching(shelf, node)
    without = query.find_terms(node) if node else frozenset()
    counts = Counter(name for pk in pks for name in shelf[pk]["tags"] if name not in without)
    expected, after = _sorted(shelf, order, pks), None
    for start in range(0, len(expected) + 1, 3):
        found = found_in.find(node, order, after, 3)
        assert found.count == len(pks)
        assert found.facets == sorted(counts.items(), key=lambda facet: (-facet[1], facet[0]))[:MAX_FACETS]
        assert found.positions == expected[start : start + 3]
        after = found.positions[-1] if found.positions else after


@given(shelf=SHELVES, node=st.none() | nodes(), order=st.sampled_from(ORDERS))
def test_the_copy_equals_a_check_of_each_book(shelf: Records, node: Node | None, order: str) -> None:
    _agrees(_index(shelf), shelf, node, order)


@given(
    first=SHELVES,
    steps=st.lists(st.tuples(IDS, st.none() | RECORDS), max_size=8),
    node=st.none() | nodes(),
    order=st.sampled_from(ORDERS),
)
def test_a_changed_copy_equals_a_fresh_one(
    first: Records, steps: list[tuple[int, dict[str, Any] | None]], node: Node | None, order: str
) -> None:
    """Steps arrive in the form of the feed. Queries in between fill the cache of results."""
    shelf, changed = dict(first), _index(first)
    for n, (pk, record) in enumerate(steps):
        before = {**shelf[pk], "id": pk} if pk in shelf else None
        after = {**record, "id": pk} if record else None
        for mirror in MIRRORS[:: 1 if n % 2 else -1]:  # the mirrors may be drained in either order
            changed.find(node, order, None, 3)
            for is_added, entry in decode_feed(
                encode_feed(*difference(_placed(mirror, before), _placed(mirror, after)))
            ):
                (changed.add if is_added else changed.remove)(entry)
        shelf.pop(pk, None)
        if record:
            shelf[pk] = record
    fresh = _index(shelf)
    tags, fresh_tags = changed._taggings, fresh._taggings
    assert tags.members == fresh_tags.members
    assert {pk: set(names) for pk, names in tags.tags_of.items()} == {
        pk: set(names) for pk, names in fresh_tags.tags_of.items()
    }
    assert tags.sizes == fresh_tags.sizes
    assert changed._all == fresh._all
    assert changed._sets == fresh._sets
    assert changed._find_languages() == fresh._find_languages()
    for name, places in changed._orders.items():
        assert places.keys == fresh._orders[name].keys, name
    _agrees(changed, shelf, node, order)


def test_repeated_changes_have_no_effect() -> None:
    shelf = _numbered({1: {"year": None, "sort_title": "x", "popularity": 1, **PLAIN, "tags": ["a", "b"]}})
    changed = _index(shelf)
    for entry in [*BookMirror().index("1", shelf[1])] * 2:
        for one in [entry] if not hasattr(entry, "keys") else [Member(key, "1") for key in entry.keys]:
            changed.add(one)
    _agrees(changed, shelf, parse("a"), "newest")
    for _ in range(2):
        changed.remove(Member(keys.tag("a"), "1"))
    _agrees(changed, {1: {**shelf[1], "tags": ["b"]}}, parse("a | b"), "title")


def test_the_titles_of_two_books_may_be_swapped_in_any_order() -> None:
    """A change of one row never removes the entry of another row."""
    shelf = _numbered(
        {
            pk: {"year": 1, "sort_title": title, "popularity": 1, **PLAIN, "tags": []}
            for pk, title in [(1, "x"), (2, "y")]
        }
    )
    changed = _index(shelf)
    swapped = {1: {**shelf[1], "sort_title": "y"}, 2: {**shelf[2], "sort_title": "x"}}
    for pk in (2, 1):
        before, after = (list(BookMirror().index(str(pk), rows[pk])) for rows in (shelf, swapped))
        told = encode_feed(*difference(before, after))
        for is_added, entry in decode_feed(told):
            (changed.add if is_added else changed.remove)(entry)
    _agrees(changed, swapped, None, "title")


@pytest.fixture
def many() -> Records:
    """Enough books for facets by threshold, with a tie at the twentieth place."""
    names = [f"t{n:02}" for n in range(40)]
    return {
        pk: {
            "year": pk % 50,
            "sort_title": f"{pk % 7}",
            "popularity": pk % 11,
            "rating": pk % 4 or None,
            "language": "",
            "available": pk % 2,
            "author_ids": [],
            "title": "x",
            "price": pk % 13 or None,
            "tags": [name for n, name in enumerate(names) if pk % (n // 2 + 1) == 0],
        }
        for pk in range(1, 1001)
    }


@pytest.mark.parametrize("text", ["", "t03", "-t03", "t03 | t10", "t00 - t09", "t38 & t30"])
@pytest.mark.parametrize("order", ORDERS)
def test_large_results_are_as_exact_as_small_ones(many: Records, text: str, order: str) -> None:
    found_in, node = _index(many), parse(text)
    pks = _matching(many, node)
    counts = Counter(name for pk in pks for name in many[pk]["tags"] if not node or name not in query.find_terms(node))
    found = found_in.find(node, order, None, 25)
    assert found.facets == sorted(counts.items(), key=lambda facet: (-facet[1], facet[0]))[:MAX_FACETS]
    assert found.positions == _sorted(many, order, pks)[:25]


def test_results_are_cached_until_a_change(many: Records) -> None:
    found_in, node = _index(many), parse("t03 & t00")
    asked: list[str] = []
    books_with = found_in._books_with

    def counted(name: str) -> BitMap64:
        asked.append(name)
        return books_with(name)

    found_in._books_with = counted  # type: ignore[method-assign]
    first = found_in.find(node, "popular", None, 5)
    assert found_in.find(parse("t00 & (t03)"), "popular", None, 5) == first
    assert len(asked) == 2
    found_in.add(Member(keys.tag("t03"), "1"))
    assert found_in.find(node, "popular", None, 5).count == first.count + 1
    assert len(asked) == 4


def test_the_cache_of_results_is_bounded(many: Records) -> None:
    found_in = _index(many)
    for n in range(index.MAX_CACHED_RESULTS + 10):
        found_in.find(query.Tag(f"nobody {n}"), "popular", None, 1)
    assert len(found_in._remembered) == index.MAX_CACHED_RESULTS


def test_unknown_tags_come_with_similar_tags(many: Records) -> None:
    found = _index(many).find(parse("t003 & t01 - t099"), "popular", None, 1)
    assert found.unknown[0] == ("t003", [("t00", 1000), ("t03", 500)])
    assert [name for name, _ in found.unknown] == ["t003", "t099"]


def test_keys_of_positions_survive_json(many: Records) -> None:
    for order in ORDERS:
        positions = _index(many).find(None, order, None, 3).positions
        assert orjson.loads(orjson.dumps(positions)) == [list(position) for position in positions]
