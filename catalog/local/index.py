"""A copy of the catalogue in the process: tag algebra, orders and facets in microseconds.

The copy holds the entries that ``BookMirror`` writes to Redis: for each tag a roaring bitmap of book ids, the orders,
each book's tags, and the sets of filters. It also holds the orders and sets of other registered mirrors.
``mirror.read.local`` keeps it current; a copy that may be outdated is not used.

The sets in Redis stay canonical. Bitmaps beside them would be a second form of the same facts, and the facets of one
page would take four hundred BITOPs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import inf
from typing import Any

from pyroaring import BitMap64

from catalog import keys, query
from catalog.listing import sorts, sql
from catalog.listing.answers import MAX_LANGUAGES, QueryAnswer, TagCounts
from catalog.listing.filters import IdsNarrowing, Narrowing, SetNarrowing
from catalog.local.orders import Order
from catalog.local.taggings import EMPTY_BITMAP, Taggings
from mirror import Contribution, Entry, Member, Members, Scored, list_bucket_keys, registry
from mirror.read import LocalCopy
from mirror.utils import Bounded

MAX_CACHED_RESULTS = 256  # results

_ResultKey = tuple[str, tuple[Narrowing, ...]]  # the normal form of a query, and the narrowings


class _TagNames(dict[str, str]):
    """A map from a tag's key to its name. All taggings share one string per tag and bucket, which saves memory."""

    def __missing__(self, key: str) -> str:
        name = self[key] = _parse_tag(key)
        return name


def _parse_tag(key: str) -> str:
    return key.partition("}:")[2]


@dataclass(frozen=True)
class _SortedEntries:
    """Entries by structure: the key of each book in each order, books by tag, tags by book, and books by filter."""

    places: dict[str, dict[int, Any]]
    members: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    tags_of: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    sets: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


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
        sorted_entries = self._sort_entries(entries)
        self._sets = {key: BitMap64(pks) for key, pks in sorted_entries.sets.items()}
        self._taggings = Taggings(sorted_entries.members, sorted_entries.tags_of)
        self._orders = self._build_orders(sorted_entries.places)
        self._all = BitMap64(sorted_entries.places[sorts.DEFAULT_SORT])
        self._remembered = Bounded[_ResultKey, tuple[BitMap64, TagCounts]](MAX_CACHED_RESULTS)

    def _sort_entries(self, entries: Iterable[Contribution]) -> _SortedEntries:
        """Return the entries by structure."""
        # Lists, because to make a bitmap of a list is 2.7 times as fast as to add its books one by one.
        found = _SortedEntries(places={sort.name: {} for sort in self._sort_of.values()})
        names = _TagNames()
        for entry in entries:
            if isinstance(entry, Scored):
                sort = self._sort_of.get(entry.key)
                if sort is not None:
                    pk, key = sort.of(entry)
                    found.places[sort.name][pk] = key
            elif isinstance(entry, Member) and entry.key == self._hidden_key:
                self._hidden.add(_parse_name(entry.member))
            else:
                own = entry.keys if isinstance(entry, Members) else entry[:1]
                self._sort_memberships(int(entry[1]), own, names, found)
        return found

    def _sort_memberships(self, pk: int, own: Sequence[str], names: _TagNames, found: _SortedEntries) -> None:
        # The keys of one entry are of one kind: tags, or sets of filters.
        if own and not own[0].startswith(self._tag_starts):
            for key in own:
                found.sets[key].append(pk)
            return
        tags = [names[key] for key in own]
        found.tags_of[pk] += tags
        for name in tags:
            found.members[name].append(pk)

    def _build_orders(self, places: Mapping[str, dict[int, Any]]) -> dict[str, Order]:
        orders = {}
        for name, given in places.items():
            # In orders of other mirrors, books without an entry come last.
            missing = dict.fromkeys(places[sorts.DEFAULT_SORT], inf) if name in self._partial else {}
            orders[name] = Order(missing | given)
        return orders

    # --- changes (mirror.read.local.Structure) -------------------------------------------------------

    def add(self, entry: Entry) -> None:
        """Add an entry."""
        self._remembered.clear()
        if isinstance(entry, Scored):
            self._add_to_order(entry)
        elif not isinstance(entry, Member):
            return
        elif entry.key == self._hidden_key:
            self._hidden.add(_parse_name(entry.member))
        elif entry.key.startswith(self._tag_starts):
            self._taggings.add(_parse_tag(entry.key), int(entry.member))
        else:
            self._sets.setdefault(entry.key, BitMap64()).add(int(entry.member))
            self._discard_languages(entry.key)

    def remove(self, entry: Entry) -> None:
        """Remove an entry. Removing an outdated sort text leaves the book at its current text."""
        self._remembered.clear()
        if isinstance(entry, Scored):
            self._remove_from_order(entry)
        elif not isinstance(entry, Member):
            return
        elif entry.key == self._hidden_key:
            self._hidden.discard(_parse_name(entry.member))
        elif entry.key.startswith(self._tag_starts):
            self._taggings.remove(_parse_tag(entry.key), int(entry.member))
        else:
            self._remove_from_set(entry.key, int(entry.member))
            self._discard_languages(entry.key)

    def _add_to_order(self, entry: Scored) -> None:
        sort = self._sort_of.get(entry.key)
        if sort is None:
            return
        pk, key = sort.of(entry)
        self._orders[sort.name].put(pk, key)
        if sort.name == sorts.DEFAULT_SORT:
            self._add_book(pk)

    def _remove_from_order(self, entry: Scored) -> None:
        sort = self._sort_of.get(entry.key)
        if sort is None:
            return
        pk, key = sort.of(entry)
        order = self._orders[sort.name]
        if sort.is_partial and pk in self._all:
            order.put(pk, inf)
        elif not sort.is_text or order.keys.get(pk) == key:
            # The text is a part of a member, so a new text is another entry, which may be added before this one goes.
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
            unknown=self._taggings.find_unknown(node) if node else [],
            languages=self._find_languages(),
        )

    def _find_languages(self) -> list[str]:
        """Return the codes of the most frequent languages, recomputed after the set of a language has changed."""
        if self._codes is None:
            sizes = []
            for key, books in self._sets.items():
                if key.startswith(self._language_key):
                    code = key.removeprefix(self._language_key)
                    sizes.append((-len(books), code))
            self._codes = [code for _, code in nsmallest(MAX_LANGUAGES, sizes)]
        return self._codes

    def _find_result(self, node: query.Node | None, narrowings: tuple[Narrowing, ...]) -> tuple[BitMap64, TagCounts]:
        text = query.get_canonical_text(node) if node else ""
        known = self._remembered.get((text, narrowings))
        if known is None:
            known = self._compute_result(node, narrowings)
        self._remembered.put((text, narrowings), known)
        return known

    def _compute_result(self, node: query.Node | None, narrowings: tuple[Narrowing, ...]) -> tuple[BitMap64, TagCounts]:
        books, without = self._all, self._hidden
        if node:
            books = query.evaluate(node, self._books_with, lambda: self._all)
            without = self._hidden | query.find_terms(node)
        for narrowing in narrowings:
            # Not "&=", which would change the bitmap of a tag in place.
            books = books & self._narrowed(narrowing)
        return books, self._taggings.find_facets(books, without, len(self._all))

    def _narrowed(self, narrowing: Narrowing) -> BitMap64:
        if isinstance(narrowing, SetNarrowing):
            return self._sets.get(narrowing.key, EMPTY_BITMAP)
        if isinstance(narrowing, IdsNarrowing):
            return BitMap64(narrowing.ids)
        sort = sorts.get_sort(narrowing.sort)
        low = None if narrowing.low is None else sort.to_comparable_key(narrowing.low)
        high = None if narrowing.high is None else sort.to_comparable_key(narrowing.high)
        if sort.is_descending:
            low, high = high, low
        return self._orders[sort.name].find_between(low, high)

    def _books_with(self, name: str) -> BitMap64:
        return self._taggings.find_books(name)


def _parse_name(member: str) -> str:
    return member.rpartition("\0")[0]


def _find_other_mirrors() -> dict[str, Callable[[], str]]:
    return {"hidden_tag": keys.hidden_tags, **sorts.find_other_mirrors()}


local_copy = LocalCopy("book", keys.popular, CatalogIndex, _find_other_mirrors)
