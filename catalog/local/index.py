"""A copy of the catalogue in the process: tag algebra, orders and facets in microseconds.

The copy holds the entries that ``BookMirror`` writes to Redis: for each tag a roaring bitmap of book ids, the orders,
each book's tags, and the sets of filters. It also holds the orders and sets of other registered mirrors.
``mirror.read.local`` keeps it current; a copy that may be outdated is not used.

The sets in Redis stay canonical. Bitmaps beside them would be a second form of the same facts, and the facets of one
page would take four hundred BITOPs.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from heapq import nsmallest
from math import inf
from typing import Any

from pyroaring import BitMap64

from catalog import keys, query
from catalog.listing import sorts, sql
from catalog.listing.answers import MAX_FACETS, MAX_LANGUAGES, QueryAnswer, TagCounts
from catalog.listing.filters import Narrowing, SetNarrowing
from catalog.local import facets
from catalog.local.orders import Order
from catalog.tags import similar
from mirror import Contribution, Entry, Member, Members, Scored, list_bucket_keys, registry
from mirror.read import LocalCopy
from mirror.utils import Bounded

# Facets of small results are found by counting, those of larger results by threshold; both are exact. In measurements
# both cost the same at about 50 of 10,000 books and 450 of 100,000.
MIN_COUNTING_BOOKS, COUNTING_DIVISOR = 50, 200
MAX_CACHED_RESULTS = 256  # results

EMPTY_BITMAP = BitMap64()
_ResultKey = tuple[str, tuple[Narrowing, ...]]  # the normal form of a query, and the narrowings


class _TagNames(dict[str, str]):
    """A map from a tag's key to its name. All taggings share one string per tag and bucket, which saves memory."""

    def __missing__(self, key: str) -> str:
        name = self[key] = _parse_tag(key)
        return name


def _parse_tag(key: str) -> str:
    return key.partition("}:")[2]


class CatalogIndex:
    """All books by tag and in each order. Callers change and query it under the lock of the copy."""

    def __init__(self, entries: Iterable[Contribution] = ()) -> None:
        self._tag_starts = tuple(list_bucket_keys(keys.tag(""), registry.get("book").buckets))
        self._language_key = keys.language("")
        self._codes: list[str] | None = None
        self._hidden_key = keys.hidden_names()
        self._hidden: set[str] = set()
        self._sort_of = {sort.place(): sort for sort in sorts.all_sorts()}
        self._partial = [sort.name for sort in sorts.all_sorts() if sort.is_partial]
        members, tags_of, places, sets = self._sort_entries(entries)
        self._sets = {key: BitMap64(pks) for key, pks in sets.items()}
        self._members = {name: BitMap64(pks) for name, pks in members.items()}
        self._tags_of = {pk: tuple(names) for pk, names in tags_of.items() if names}
        self._sizes = sorted((-len(books), name) for name, books in self._members.items())
        for name in self._partial:
            places[name] = dict.fromkeys(places[sorts.DEFAULT_SORT], inf) | places[name]
        self._orders = {name: Order(found) for name, found in places.items()}
        self._all = BitMap64(places[sorts.DEFAULT_SORT])
        self._remembered = Bounded[_ResultKey, tuple[BitMap64, TagCounts]](MAX_CACHED_RESULTS)

    def _sort_entries(
        self, entries: Iterable[Contribution]
    ) -> tuple[dict[str, Any], dict[int, Any], dict[str, Any], dict[str, list[int]]]:
        members: defaultdict[str, list[int]] = defaultdict(list)
        tags_of: defaultdict[int, list[str]] = defaultdict(list)
        places: dict[str, dict[int, Any]] = {sort.name: {} for sort in self._sort_of.values()}
        sets: defaultdict[str, list[int]] = defaultdict(list)
        names = _TagNames()
        for entry in entries:
            if isinstance(entry, Scored):
                if sort := self._sort_of.get(entry.key):
                    pk, key = sort.of(entry)
                    places[sort.name][pk] = key
                continue
            if isinstance(entry, Member) and entry.key == self._hidden_key:
                self._hidden.add(_parse_name(entry.member))
                continue
            pk = int(entry[1])
            own = entry.keys if isinstance(entry, Members) else entry[:1]
            if own and not own[0].startswith(self._tag_starts):
                for key in own:
                    sets[key].append(pk)
                continue
            tags = [*map(names.__getitem__, own)]
            tags_of[pk] += tags
            for name in tags:
                members[name].append(pk)
        return members, tags_of, places, sets

    # --- changes (mirror.read.local.Structure) -------------------------------------------------------

    def add(self, entry: Entry) -> None:
        """Add an entry."""
        self._remembered.clear()
        if type(entry) is Member and entry.key == self._hidden_key:
            self._hidden.add(_parse_name(entry.member))
        elif type(entry) is Member and not entry.key.startswith(self._tag_starts):
            self._sets.setdefault(entry.key, BitMap64()).add(int(entry.member))
            self._discard_languages(entry.key)
        elif type(entry) is Member:
            self._add_tagging(_parse_tag(entry.key), int(entry.member))
        elif type(entry) is Scored and (sort := self._sort_of.get(entry.key)):
            pk, key = sort.of(entry)
            self._orders[sort.name].put(pk, key)
            if sort.name == sorts.DEFAULT_SORT:
                self._add_book(pk)

    def remove(self, entry: Entry) -> None:
        """Remove an entry. Removing an outdated sort text leaves the book at its current text."""
        self._remembered.clear()
        if type(entry) is Member and entry.key == self._hidden_key:
            self._hidden.discard(_parse_name(entry.member))
        elif type(entry) is Member and not entry.key.startswith(self._tag_starts):
            self._remove_from_set(entry.key, int(entry.member))
            self._discard_languages(entry.key)
        elif type(entry) is Member:
            self._remove_tagging(_parse_tag(entry.key), int(entry.member))
        elif type(entry) is Scored and (sort := self._sort_of.get(entry.key)):
            pk, key = sort.of(entry)
            order = self._orders[sort.name]
            if sort.is_partial and pk in self._all:
                order.put(pk, inf)
            elif not sort.is_text or order.keys.get(pk) == key:
                order.drop(pk)
            if sort.name == sorts.DEFAULT_SORT:
                self._remove_book(pk)

    def _discard_languages(self, key: str) -> None:
        """Discard the list of languages if the changed set belongs to a language."""
        if key.startswith(self._language_key):
            self._codes = None

    def _remove_from_set(self, key: str, pk: int) -> None:
        """Remove a book from the set of a filter."""
        books = self._sets.get(key, EMPTY_BITMAP)
        if pk in books:
            books.discard(pk)
            if not books:
                del self._sets[key]

    def _add_book(self, pk: int) -> None:
        """Add a book. In orders of other mirrors it comes last until it has an entry there."""
        self._all.add(pk)
        for name in self._partial:
            if pk not in self._orders[name].keys:
                self._orders[name].put(pk, inf)

    def _remove_book(self, pk: int) -> None:
        """Remove a book. Other mirrors remove their own entries of the book."""
        self._all.discard(pk)
        for name in self._partial:
            if self._orders[name].keys.get(pk) == inf:
                self._orders[name].drop(pk)

    def _add_tagging(self, name: str, pk: int) -> None:
        books = self._members.setdefault(name, BitMap64())
        if pk not in books:
            self._update_tag_size(name, len(books), len(books) + 1)
            books.add(pk)
            self._tags_of[pk] = (*self._tags_of.get(pk, ()), name)

    def _remove_tagging(self, name: str, pk: int) -> None:
        books = self._members.get(name, EMPTY_BITMAP)
        if pk not in books:
            return
        self._update_tag_size(name, len(books), len(books) - 1)
        books.discard(pk)
        if not books:
            del self._members[name]
        left = tuple(other for other in self._tags_of[pk] if other != name)
        if left:
            self._tags_of[pk] = left
        else:
            del self._tags_of[pk]

    def _update_tag_size(self, name: str, old: int, new: int) -> None:
        if old:
            del self._sizes[bisect_left(self._sizes, (-old, name))]
        if new:
            insort(self._sizes, (-new, name))

    # --- queries --------------------------------------------------------------------------------

    def find(
        self,
        node: query.Node | None,
        order: str,
        after: sql.Position | None,
        limit: int,
        narrowings: tuple[Narrowing, ...] = (),
    ) -> QueryAnswer:
        """Return the answer to a query, with up to ``limit`` positions after ``after``."""
        books, counts = self._find_result(node, narrowings)
        way = sorts.get_sort(order)
        inside = None if after is None else (way.to_comparable_key(after[0]), after[1])
        page = self._orders[way.base_name].page(books, inside, limit, is_reversed=way.is_reversed)
        return QueryAnswer(
            count=len(books),
            positions=[(way.from_comparable_key(key), pk) for key, pk in page],
            facets=counts,
            unknown=self._unknown(node),
            languages=self._find_languages(),
        )

    def _find_languages(self) -> list[str]:
        """Return the codes of the most frequent languages, recomputed after the set of a language has changed."""
        if self._codes is None:
            start = self._language_key
            sizes = ((-len(books), key[len(start) :]) for key, books in self._sets.items() if key.startswith(start))
            self._codes = [code for _, code in nsmallest(MAX_LANGUAGES, sizes)]
        return self._codes

    def _find_result(self, node: query.Node | None, narrowings: tuple[Narrowing, ...]) -> tuple[BitMap64, TagCounts]:
        name = query.get_canonical_text(node) if node else "", narrowings
        known = self._remembered.get(name)
        if known is None:
            books = query.evaluate(node, self._books_with, lambda: self._all) if node else self._all
            for narrowing in narrowings:
                books = books & self._narrowed(narrowing)
            known = books, self._find_facets(books, self._hidden | query.find_terms(node) if node else self._hidden)
        self._remembered.put(name, known)
        return known

    def _narrowed(self, narrowing: Narrowing) -> BitMap64:
        if isinstance(narrowing, SetNarrowing):
            return self._sets.get(narrowing.key, EMPTY_BITMAP)
        sort = sorts.get_sort(narrowing.sort)
        low, high = (None if key is None else sort.to_comparable_key(key) for key in (narrowing.low, narrowing.high))
        return self._orders[sort.name].find_between(*((high, low) if sort.is_descending else (low, high)))

    def _books_with(self, name: str) -> BitMap64:
        return self._members.get(name, EMPTY_BITMAP)

    def _find_facets(self, books: BitMap64, without: Collection[str]) -> TagCounts:
        if len(books) <= max(MIN_COUNTING_BOOKS, len(self._all) // COUNTING_DIVISOR):
            return facets.find_facets_by_counting((self._tags_of.get(pk, ()) for pk in books), MAX_FACETS, without)
        return facets.find_facets_by_threshold(books, self._sizes, self._members, MAX_FACETS, without)

    def _unknown(self, node: query.Node | None) -> list[tuple[str, TagCounts]]:
        names = [name for name in query.find_terms_in_order(node) if name not in self._members] if node else []
        return [(name, self._find_similar_tags(name)) for name in names[: similar.MAX_UNKNOWN_NAMES]]

    def _find_similar_tags(self, name: str) -> TagCounts:
        members = self._members
        return similar.pick_most_used(
            {text: len(members[text]) for text in similar.generate_variants(name) if text in members}
        )


def _parse_name(member: str) -> str:
    return member.rpartition("\0")[0]


def _find_other_mirrors() -> dict[str, Callable[[], str]]:
    return {"hidden_tag": keys.hidden_tags, **sorts.find_other_mirrors()}


local_copy = LocalCopy("book", keys.popular, CatalogIndex, _find_other_mirrors)
