"""Find and read books: with Redis and the copy in the process, or, with the same answer, in SQL."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from django.db.models import Q
from django.urls import reverse

from catalog import keys, query
from catalog.books import extras
from catalog.books.records import BookRecord, load_book_records
from catalog.books.series import parse_series
from catalog.books.volumes import find_volumes
from catalog.listing import cursors, sorts, sql
from catalog.listing.answers import EMPTY_ANSWER, QueryAnswer, answer_in_sql
from catalog.listing.filters import NO_FILTERS, ChosenFilters, IdsNarrowing, Narrowing, SetNarrowing
from catalog.listing.results import MAX_PAGES, PAGE_SIZE, BookList
from catalog.local.index import CatalogIndex, local_copy
from catalog.mirrors import AuthorMirror, BookMirror
from catalog.models import AuthorAlias
from catalog.shelves.models import Shelf
from catalog.shelves.selectors import ENTRY_MIRRORS, CardEntries, ask_for_entries, find_entries, read_entries
from common.ids import MAX_ID
from mirror import answer, together
from mirror.read import RawRecord, ask_sql, get_encoder
from mirror.redis import RedisPipeline
from mirror.relay import tables
from mirror.utils import SQL_AWAY

MAX_CATCH_UP_CHANGES: Final = 100  # pending changes of titles that a list in SQL applies first


def find_books(
    text: str = "",
    sort: str = "",
    after: str = "",
    chosen: ChosenFilters = NO_FILTERS,
    pages: int = 1,
    viewer: int = 0,
    *,
    is_brief: bool = False,
) -> BookList:
    """Return the books that match the query ``text`` and the filters, in the order ``sort``, after the cursor
    ``after``: ``pages`` pages, at most MAX_PAGES. With a viewer (0: not logged in) the books' places on the viewer's
    shelves are read in the same round trip. is_brief: only the books are shown, so SQL counts nothing: neither the
    results nor their tags and languages.

    An unknown order falls back to the most read books, an invalid cursor to the first page. From a warm mirror: at
    most 2 round trips and no SQL.
    """
    order = sorts.get_sort_or_default(sort).name
    size = PAGE_SIZE * max(1, min(pages, MAX_PAGES))
    try:
        node = _parse_query(text)
    except query.QueryError as error:
        return BookList(text, order, error, None, EMPTY_ANSWER, [], [], chosen)
    if chosen.errors:
        return BookList(text, order, None, node, EMPTY_ANSWER, [], [], chosen)
    position = cursors.read_cursor(after, order) if after else None
    asked = _ListRequest(node, order, position, chosen.narrowings, size, viewer, is_brief)
    answer, books, beside, entries = _find_in_redis(asked) or _find_in_sql(asked)
    shelved = entries if viewer else None
    return BookList(text, order, None, node, answer, books, beside, chosen, size, entries=shelved)


_parse_query = lru_cache(maxsize=512)(query.parse)

ListAnswer = tuple[QueryAnswer, list[BookRecord], extras.CardValues, CardEntries]


class _ListRequest(NamedTuple):
    """The parameters of a search. size: the number of books. is_brief: as in ``find_books``."""

    node: query.Node | None
    order: str
    after: sql.Position | None
    narrowings: tuple[Narrowing, ...]
    size: int
    viewer: int
    is_brief: bool


def _find_in_redis(asked: _ListRequest) -> ListAnswer | None:
    """Return the answer with the page's records. None: the mirror is cold, Redis is away, or the copy is behind."""

    def ask_for_records(pipe: RedisPipeline, found: QueryAnswer) -> None:
        pks = _get_page_ids(found, asked)
        if not pks:
            return
        pipe.mget([keys.book(pk) for pk in pks])
        extras.card_extras.add_commands(pipe, pks)
        if asked.viewer:
            ask_for_entries(pipe, asked.viewer, pks)

    def find(index: CatalogIndex) -> QueryAnswer:
        return index.find(asked.node, asked.order, asked.after, asked.size + 1, asked.narrowings)

    answered = local_copy.ask(find, ask_for_records, ENTRY_MIRRORS if asked.viewer else ())
    if answered is None:
        return None
    found, replies = answered
    if not replies:
        return found, [], [], []
    raws, *more = replies
    # A pipeline is no transaction: a book of the page may be deleted between its commands.
    if None in raws:
        return None
    entries = read_entries(more.pop()) if asked.viewer else []
    return found, list(map(BookRecord, raws)), extras.read_card_replies(more), entries


def _find_in_sql(asked: _ListRequest) -> ListAnswer:
    def load() -> tuple[QueryAnswer, list[BookRecord], extras.CardValues]:
        found = answer_in_sql(
            asked.node, asked.order, asked.after, asked.size + 1, asked.narrowings, is_brief=asked.is_brief
        )
        pks = _get_page_ids(found, asked)
        return found, load_records_from_sql(pks), extras.load_cards_from_sql(pks)

    if sorts.get_sort(asked.order).is_text:
        # SQL sorts texts by a column that the relay computes.
        tables.catch_up(["title_key"], MAX_CATCH_UP_CHANGES)
    found, books, beside = ask_sql(["book", *sorts.find_other_mirrors()], load)
    entries = find_entries(asked.viewer, _get_page_ids(found, asked)) if asked.viewer else []
    return found, books, beside, entries


def _get_page_ids(found: QueryAnswer, asked: _ListRequest) -> list[int]:
    return [pk for _, pk in found.positions[: asked.size]]


def load_records_from_sql(pks: list[int]) -> list[BookRecord]:
    """Return the records of books from SQL, with the same bytes as in Redis."""
    encode = get_encoder("book")
    return [BookRecord(encode(record)) for record in load_book_records(pks)]


def get_author(pk: int) -> RawRecord | None:
    """Return the author's record (id, name), or None if the author does not exist.

    From a warm mirror: 1 round trip and no SQL.
    """
    if not 0 < pk <= MAX_ID:
        return None
    return AuthorMirror.get(pk)


def find_merged_author(pk: int) -> int | None:
    """Return the author into which the author with this former id was merged; None also while SQL is away. 1 query."""
    if pk > MAX_ID:
        return None
    found = AuthorAlias.objects.filter(former_id=pk).values_list("author_id", flat=True)
    try:
        target: int | None = found.first()
    except SQL_AWAY:
        return None
    return target


def find_books_by_author(author: int, after: str = "", pages: int = 1, viewer: int = 0) -> BookList:
    """Return the books of an author, most read first, in the same way as ``find_books``."""
    narrowing = SetNarrowing(keys.books_by(author), Q(authors=author))
    found = find_books("", "", after, ChosenFilters(narrowings=(narrowing,)), pages, viewer)
    return replace(found, address=reverse("author", args=[author]))


class SeriesPage(NamedTuple):
    """An author's series. books: its volumes in order. next: the first volume that the viewer has not read.

    read_count: the number of volumes that the viewer has read; None: not logged in.
    """

    name: str
    author: RawRecord
    books: BookList
    read_count: int | None
    next: BookRecord | None


def find_series_page(author: int, name: str, viewer: int = 0) -> SeriesPage | None:
    """Return an author's series (its normalised name), or None if it has no volume.

    From warm mirrors: at most 3 round trips and no SQL.
    """
    if not 0 < author <= MAX_ID:
        return None
    with together() as reads:
        found = reads(AuthorMirror.get, author)
        volumes = reads(find_volumes, author, name)
    ids = [volume.id for volume in volumes.value]
    if found.value is None or not ids:
        return None
    chosen = ChosenFilters(narrowings=(IdsNarrowing(frozenset(ids)),))
    books = _arrange(find_books(chosen=chosen, pages=MAX_PAGES, viewer=viewer, is_brief=True), ids)
    if not books.books:
        return None
    unread = _find_unread(books)
    count = None if unread is None else len(books.books) - len(unread)
    titles = [one.name for one in parse_series(books.books[0]["title"]) if one.normalised_name == name]
    return SeriesPage(next(iter(titles), name), found.value, books, count, unread[0] if unread else None)


def _arrange(books: BookList, ids: Sequence[int]) -> BookList:
    """Return the list with its books in the order of ``ids``."""
    places = sorted(range(len(books.books)), key=lambda n: ids.index(books.books[n]["id"]))
    return replace(
        books,
        books=[books.books[n] for n in places],
        card_values=[[values[n] for n in places] for values in books.card_values],
        entries=None if books.entries is None else [books.entries[n] for n in places],
    )


def _find_unread(books: BookList) -> list[BookRecord] | None:
    """Return the books that the viewer has not read; None: not logged in."""
    if books.entries is None:
        return None
    pairs = zip(books.books, books.entries, strict=True)
    return [book for book, entry in pairs if entry is None or entry["shelf"] != Shelf.READ]


def get_book(pk: int) -> BookRecord | None:
    """Return the book's record, or None if the book does not exist.

    From a warm mirror: 1 round trip and no SQL.
    """
    if not 0 < pk <= MAX_ID:
        return None
    return BookMirror.get(pk)


class BookPage(NamedTuple):
    """A book, and the values of its extras by name (``catalog.books.extras``)."""

    book: BookRecord
    extras: dict[str, Any]

    @property
    def json(self) -> bytes:
        """The book and the fields of its extras as one JSON object."""
        return extras.join_json(self.book.raw, self.extras)


def get_book_page(pk: int) -> BookPage | None:
    """Return the book with its extras, or None if the book does not exist.

    From warm mirrors: 1 round trip and no SQL, apart from further reads of the extras themselves.
    """
    if not 0 < pk <= MAX_ID:
        return None

    with together() as reads:
        book = reads(BookMirror.get, pk)
        values = reads(answer, extras.page_extras.ask(pk))
    return None if book.value is None else BookPage(book.value, values.value)
