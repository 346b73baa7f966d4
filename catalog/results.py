"""What templates and the JSON are given: a book, and a page of books that a query found.

Links are worked out when they are asked for: the JSON and the "more" of a list need few of them.
"""

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise

from catalog import cursor, query, sorts
from catalog.extras import Beside
from catalog.filters import LANGUAGE, NO_FILTERS, Chosen
from catalog.found import Found
from catalog.languages import main_code
from catalog.query import Node, QueryError
from catalog.sorts import Sort
from mirror.raw import RawRecord

PAGE: Final = 20  # books
MAX_PAGES: Final = 10  # shown at once, so that going back finds what was loaded


class BookRecord(RawRecord):
    """A book as its record says it: id, title, authors, year, tags, ..."""

    __slots__ = ()


@dataclass(frozen=True)
class Facet:
    """A tag, how many books have it, and the query (with its address) that it leads to."""

    name: str
    count: int
    query: str
    url: str


@dataclass(frozen=True)
class Chip:
    """A tag of the query, whether it is asked against, and the query (with its address) without it."""

    name: str
    is_excluded: bool
    query: str
    url: str


@dataclass(frozen=True)
class Unknown:
    """A tag of the query that no book has, and the query as it would be with tags that look like it."""

    name: str
    similar: list[Facet]


@dataclass(frozen=True)
class SortLink:
    """An order: its name in the address, what people call it, whether it is the present one or its reverse."""

    name: str
    label: str | Promise
    is_current: bool
    url: str


@dataclass(frozen=True)
class FilterChip:
    """A filter in use, as people call it, and the address without it."""

    label: str
    url: str


@dataclass
class BookList:
    """A page of books that a query found.

    query: as it was typed. sort: the order. error: why the query cannot be read; then nothing was found.
    node: the query as it was read; None: all books. books: this page's, at most ``size``. beside: what other
    applications say of them (``catalog.extras``). chosen: the filters; where they have errors nothing was found.
    address: of the page that shows the list; "": of the list of all books. start: the cursor at which the visitor's
    list begins; pages: how many pages of it they have, this one included.
    """

    query: str
    sort: str
    error: QueryError | None
    node: Node | None
    found: Found
    books: list[BookRecord]
    beside: Beside
    chosen: Chosen = NO_FILTERS
    size: int = PAGE
    address: str = ""
    start: str = ""
    pages: int = 1

    @property
    def is_bad(self) -> bool:
        """Whether the query or a filter cannot be read."""
        return self.error is not None or bool(self.chosen.errors)

    @property
    def count(self) -> int:
        """How many books the query found, on all pages."""
        return self.found.count

    @cached_property
    def next(self) -> str | None:
        """The cursor of the next page; None on the last."""
        if len(self.found.positions) <= self.size:
            return None
        return cursor.write(self.sort, self.found.positions[self.size - 1])

    @property
    def next_url(self) -> str | None:
        """The address of the next page; None on the last."""
        return self._url(self.query, self.sort, self.next) if self.next else None

    @property
    def more_url(self) -> str:
        """The address that htmx loads the next page from."""
        loaded = urlencode({"start": self.start, "loaded": self.pages + 1})
        return f"{self._url(self.query, self.sort, self.next)}&{loaded}"

    @property
    def grown_url(self) -> str | None:
        """The address of the visitor's list with the next page; None where it has too many pages for one answer."""
        if self.pages >= MAX_PAGES:
            return None
        return self._url(self.query, self.sort, self.start, pages=self.pages + 1)

    @cached_property
    def sorts(self) -> list[SortLink]:
        """The orders there are."""
        return [
            SortLink(sort.name, sort.label, sort.name == self._sort.base, self._url(self.query, sort.name))
            for sort in sorts.every()
        ]

    @cached_property
    def reversed_sort(self) -> SortLink:
        """The present order the other way round."""
        reverse = self._sort.reverse()
        return SortLink(reverse.name, reverse.label, False, self._url(self.query, reverse.name))

    @cached_property
    def _sort(self) -> Sort:
        return sorts.get(self.sort)

    @cached_property
    def filters(self) -> list[FilterChip]:
        """The filters in use, and the address without each."""
        return [
            FilterChip(active.label, self._url(self.query, self.sort, without=active.names))
            for active in self.chosen.active
        ]

    @property
    def can_clear_all(self) -> bool:
        """Whether more than one thing narrows the list."""
        return len(self.chips) + len(self.filters) > 1

    @cached_property
    def languages(self) -> list[str]:
        """The codes of the languages to choose from: those of most books, and the one that is chosen."""
        chosen = main_code(self.chosen.given.get(LANGUAGE, ""))
        found = self.found.languages
        return found if not chosen or chosen in found else [chosen, *found]

    @property
    def language(self) -> str:
        """The code of the language that is chosen, or ""."""
        return main_code(self.chosen.given.get(LANGUAGE, ""))

    @cached_property
    def facets(self) -> list[Facet]:
        """The tags that most of the results have, other than the query's own, and the query narrowed by each."""
        return [self._facet(name, count, query.with_term(self.node, name)) for name, count in self.found.facets]

    @cached_property
    def chips(self) -> list[Chip]:
        """The query's own tags, in the order of the query, and the query without each."""
        if self.node is None:
            return []
        wanted = query.positive_terms(self.node)
        left = {name: query.without_term(self.node, name) for name in query.terms_in_order(self.node)}
        return [Chip(name, name not in wanted, text, self._url(text, self.sort)) for name, text in left.items()]

    @cached_property
    def unknown(self) -> list[Unknown]:
        """The first few of the query's tags that no book has."""
        return [
            Unknown(name, [self._facet(other, count, self._with(other, name)) for other, count in similar])
            for name, similar in self.found.unknown
        ]

    def _with(self, other: str, name: str) -> str:
        assert self.node is not None  # where nothing was asked for, nothing is unknown
        return query.to_text(query.renamed(self.node, name, other))

    def _facet(self, name: str, count: int, text: str) -> Facet:
        return Facet(name, count, text, self._url(text, self.sort))

    @cached_property
    def _address(self) -> str:
        return self.address or reverse("catalog:list")

    def _url(
        self, text: str, order: str, after: str | None = None, *, without: Container[str] = (), pages: int = 1
    ) -> str:
        filters = {name: value for name, value in self.chosen.given.items() if name not in without}
        sort = "" if order == sorts.DEFAULT else order
        parameters = {"q": text, **filters, "sort": sort, "after": after or ""}
        if pages > 1:
            parameters["pages"] = str(pages)
        given = urlencode({name: value for name, value in parameters.items() if value})
        return f"{self._address}?{given}" if given else self._address
