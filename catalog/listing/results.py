"""The data of templates and JSON: a book, and a page of books found by a query.

Links are computed on first access, because the JSON and the further cards of a list need few of them.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise

from catalog import query
from catalog.books.extras import CardValues
from catalog.books.records import BookRecord
from catalog.listing import cursors, sorts
from catalog.listing.answers import QueryAnswer
from catalog.listing.filters import LANGUAGE, NO_FILTERS, ChosenFilters
from catalog.listing.sorts import Sort
from catalog.query import Node, QueryError
from catalog.values.languages import normalise_code
from catalog.values.tag_labels import get_tag_label

PAGE_SIZE: Final = 20  # books
# Pages in one answer, so that going back restores the loaded pages: htmx's own cache would keep personal pages in local
# storage, and a script that loads page after page loses the scroll position.
MAX_PAGES: Final = 10


@dataclass(frozen=True)
class Facet:
    """A tag, its number of books, and the query with this tag added, as text and as an address."""

    name: str
    count: int
    query: str
    url: str


@dataclass(frozen=True)
class TagChip:
    """A tag of the query, whether it is excluded, and the query without this tag, as text and as an address.

    joint: what joins it to the tag before: "", "and" or "or". negated_url: the address of the query that excludes the
    tag, or includes it if it is excluded.
    """

    name: str
    is_excluded: bool
    query: str
    url: str
    joint: str
    negated_url: str


@dataclass(frozen=True)
class UnknownTag:
    """A tag of the query that no book has, and the query with each similar tag in its place."""

    name: str
    similar: list[Facet]


@dataclass(frozen=True)
class SortLink:
    """A link to an order. is_current: whether the list is in this order. is_narrow: only the menu of phones has it."""

    name: str
    label: str | Promise
    is_current: bool
    is_narrow: bool
    url: str


@dataclass(frozen=True)
class FilterChip:
    """The label of a filter in use, and the address of the list without it."""

    label: str
    url: str


@dataclass
class BookList:
    """A page of books found by a query.

    query: as typed. sort: the name of the order. error: why the query is invalid; then nothing was found. node: the
    parsed query; None: all books. books: at most ``size``. card_values: the values of card extras (``books.extras``).
    chosen: the filters; with errors in them nothing was found. address: of the page with the list; "": of the list of
    all books. start: the cursor at which the visitor's list begins. pages: the number of pages in the visitor's list,
    including this one. entries: for each book, its record on the viewer's shelves or None; None: not logged in.
    """

    query: str
    sort: str
    error: QueryError | None
    node: Node | None
    answer: QueryAnswer
    books: list[BookRecord]
    card_values: CardValues
    chosen: ChosenFilters = NO_FILTERS
    size: int = PAGE_SIZE
    address: str = ""
    start: str = ""
    pages: int = 1
    entries: Sequence[dict[str, Any] | None] | None = None

    @property
    def is_invalid(self) -> bool:
        """Whether the query or a filter is invalid."""
        return self.error is not None or bool(self.chosen.errors)

    @property
    def count(self) -> int:
        """The number of books found, on all pages."""
        return self.answer.count

    @cached_property
    def next(self) -> str | None:
        """The cursor of the next page; None on the last page."""
        # One position more than the page was asked for.
        if len(self.answer.positions) <= self.size:
            return None
        return cursors.write_cursor(self.sort, self.answer.positions[self.size - 1])

    @property
    def next_url(self) -> str | None:
        """The address of the next page; None on the last page."""
        return self._url(self.query, self.sort, self.next) if self.next else None

    @property
    def more_url(self) -> str:
        """The address from which htmx loads the next page."""
        loaded = urlencode({"start": self.start, "loaded": self.pages + 1})
        return f"{self._url(self.query, self.sort, self.next)}&{loaded}"

    @property
    def grown_url(self) -> str | None:
        """The address of the visitor's list with the next page; None if that is too long for one answer."""
        if self.pages >= MAX_PAGES:
            return None
        return self._url(self.query, self.sort, self.start, pages=self.pages + 1)

    @cached_property
    def sorts(self) -> list[SortLink]:
        """Links to all orders, each with its reverse."""
        return [self._build_sort_link(each) for sort in sorts.all_sorts() for each in (sort, sort.reverse())]

    @property
    def order_label(self) -> str:
        """The name of the current order."""
        return str(self._current_sort.label)

    def _build_sort_link(self, sort: Sort) -> SortLink:
        # The row of wide pages has room for the reverses of prices and of the current order.
        is_current = sort.name == self._current_sort.name
        is_beside = self.sort == sort.base_name != sorts.DEFAULT_SORT
        is_narrow = sort.is_reversed and not (is_current or is_beside or sort.is_reverse_listed)
        return SortLink(sort.name, sort.label, is_current, is_narrow, self._url(self.query, sort.name))

    @cached_property
    def _current_sort(self) -> Sort:
        return sorts.get_sort(self.sort)

    @cached_property
    def filters(self) -> list[FilterChip]:
        """The filters in use, each with the address without it."""
        return [
            FilterChip(active.label, self._url(self.query, self.sort, without=active.names))
            for active in self.chosen.active
        ]

    @property
    def can_clear_all(self) -> bool:
        """Whether the list has more than one tag or filter to clear."""
        return len(self.chips) + len(self.filters) > 1

    @cached_property
    def languages(self) -> list[str]:
        """The codes of the languages on offer: the most frequent ones, and the chosen one."""
        chosen = normalise_code(self.chosen.given.get(LANGUAGE, ""))
        found = self.answer.languages
        if not chosen or chosen in found:
            return found
        return [chosen, *found]

    @property
    def language(self) -> str:
        """The code of the chosen language, or ""."""
        return normalise_code(self.chosen.given.get(LANGUAGE, ""))

    @cached_property
    def facets(self) -> list[Facet]:
        """The most frequent tags of the results, without those of the query, each with the narrowed query."""
        return [self._build_facet(name, count, query.add_term(self.node, name)) for name, count in self.answer.facets]

    @cached_property
    def chips(self) -> list[TagChip]:
        """The tags of the query in order, each with the query without it."""
        if self.node is None:
            return []
        wanted, joints = query.find_positive_terms(self.node), query.find_joints(self.node)
        chips = []
        for name in query.find_terms_in_order(self.node):
            left = query.remove_term(self.node, name)
            negated_url = self._url(query.negate_term(self.node, name), self.sort)
            chips.append(TagChip(name, name not in wanted, left, self._url(left, self.sort), joints[name], negated_url))
        return chips

    @property
    def reportable_tag(self) -> str:
        """The only tag of the query, if the books have it and pages show it; "" otherwise."""
        name = self.chips[0].name if len(self.chips) == 1 and self.books else ""
        return name if name and name in self.books[0]["tags"] and name not in self.books[0]["hidden_tags"] else ""

    @property
    def title(self) -> str:
        """The query with the labels of its tags."""
        if self.node is None:
            return self.query
        labels = {name: get_tag_label(name) for name in query.find_terms_in_order(self.node)}
        node = self.node
        for name, label in labels.items():
            node = query.replace_term(node, name, label)
        # One tag needs no quotation marks around its blanks.
        return node.name if isinstance(node, query.Tag) else query.format_query(node)

    @cached_property
    def unknown_tags(self) -> list[UnknownTag]:
        """The first few tags of the query that no book has."""
        found = []
        for name, similar in self.answer.unknown:
            links = [self._build_facet(other, count, self._replace_tag(other, name)) for other, count in similar]
            found.append(UnknownTag(name, links))
        return found

    def make_url_with_tags(self, others: Mapping[str, str]) -> str:
        """Return the address of the list with other tags in place of some of the query."""
        assert self.node is not None  # an empty query has no tags
        node = self.node
        for name, other in others.items():
            node = query.replace_term(node, name, other)
        return self._url(query.format_query(node), self.sort)

    def _replace_tag(self, other: str, name: str) -> str:
        assert self.node is not None  # an empty query has no unknown tags
        return query.format_query(query.replace_term(self.node, name, other))

    def _build_facet(self, name: str, count: int, text: str) -> Facet:
        return Facet(name, count, text, self._url(text, self.sort))

    @cached_property
    def _list_url(self) -> str:
        return self.address or reverse("catalog:list")

    def _url(
        self, text: str, order: str, after: str | None = None, *, without: Container[str] = (), pages: int = 1
    ) -> str:
        parameters = {"q": text}
        parameters.update({name: value for name, value in self.chosen.given.items() if name not in without})
        # Without the default order, so that a list has one address.
        if order != sorts.DEFAULT_SORT:
            parameters["sort"] = order
        parameters["after"] = after or ""
        if pages > 1:
            parameters["pages"] = str(pages)
        given = urlencode({name: value for name, value in parameters.items() if value})
        return f"{self._list_url}?{given}" if given else self._list_url
