"""Finding and reading books: from Redis and the copy in the process, or, with the same answer, from SQL."""

from functools import lru_cache
from typing import Any, Final, NamedTuple

from catalog import cursor, extras, keys, query, sorts, sql
from catalog.found import NOTHING, Found, by_sql
from catalog.index import copy
from catalog.records import book_records
from catalog.results import PAGE, BookList, BookRecord
from mirror import registry
from mirror.read import read
from mirror.shapes import shape_of

LARGEST_ID: Final = 2**63 - 1


def find_books(text: str = "", sort: str = "", after: str = "") -> BookList:
    """The books that the query ``text`` finds, in the order ``sort``, from the cursor ``after`` on.

    An unknown sort is the most read first, a cursor that is not ours the first page. From a warm mirror: at
    most 2 round trips and no SQL.
    """
    order = sorts.known(sort).name
    try:
        node = _parse(text)
    except query.QueryError as error:
        return BookList(text, order, error, None, NOTHING, [], [])
    position = cursor.read(after, order) if after else None
    answer = _from_redis(node, order, position) or _from_sql(node, order, position)
    return BookList(text, order, None, node, *answer)


_parse = lru_cache(maxsize=512)(query.parse)

Answer = tuple[Found, list[BookRecord], extras.Beside]


def _from_redis(node: query.Node | None, order: str, after: sql.Position | None) -> Answer | None:
    """The answer, and the page's records; None if the mirror is cold, or away, or the copy is behind."""

    def records(pipe: Any, found: Found) -> None:
        if pks := _page(found):
            pipe.mget([keys.book(pk) for pk in pks])
            extras.ask_for_cards(pipe, pks)

    answer = copy.ask(lambda index: index.find(node, order, after, PAGE + 1), records)
    if answer is None:
        return None
    found, replies = answer
    if not replies:
        return found, [], []
    raws, *more = replies
    return None if None in raws else (found, list(map(BookRecord, raws)), extras.found_for_cards(more))


def _from_sql(node: query.Node | None, order: str, after: sql.Position | None) -> Answer:
    found = by_sql(node, order, after, PAGE + 1)
    pks = _page(found)
    return found, _records_by_sql(pks), extras.by_sql_for_cards(pks)


def _page(found: Found) -> list[int]:
    return [pk for _, pk in found.positions[:PAGE]]


def _records_by_sql(pks: list[int]) -> list[BookRecord]:
    """The same bytes as in Redis."""
    encode = shape_of(registry.get("book")).encode
    return [BookRecord(encode(record)) for record in book_records(pks)]


def get_book(pk: int) -> BookRecord | None:
    """The book's record, or None if there is no such book. From a warm mirror: 1 round trip and no SQL."""
    if not 0 < pk <= LARGEST_ID:
        return None
    reading = read(["book"], lambda pipe: pipe.get(keys.book(pk)))
    if reading is None:
        return next(iter(_records_by_sql([pk])), None)
    raw = reading.replies[0]
    return None if raw is None else BookRecord(raw)


class BookPage(NamedTuple):
    """A book, and by name what other applications say of it (``catalog.extras``)."""

    book: BookRecord
    extras: dict[str, Any]

    @property
    def json(self) -> bytes:
        """All of it as one JSON object."""
        return extras.joined(self.book.raw, self.extras)


def get_book_page(pk: int) -> BookPage | None:
    """The book with all that is said of it, or None if there is no such book. From warm mirrors: 1 round trip and no
    SQL (what an extra asks beyond that is its own affair).
    """
    if not 0 < pk <= LARGEST_ID:
        return None

    def ask(pipe: Any) -> None:
        pipe.get(keys.book(pk))
        extras.ask(pipe, pk)

    reading = read(["book", *extras.mirrors()], ask)
    if reading is None:
        book = next(iter(_records_by_sql([pk])), None)
        return None if book is None else BookPage(book, extras.by_sql(pk))
    raw, *replies = reading.replies
    return None if raw is None else BookPage(BookRecord(raw), extras.found(pk, replies))
