"""Finding and reading books: from Redis and the copy in the process, or, with the same answer, from SQL."""

from functools import lru_cache
from typing import Any, Final

from catalog import cursor, keys, query, sql
from catalog.found import NOTHING, Found, by_sql
from catalog.index import copy
from catalog.records import book_records
from catalog.results import PAGE, SORTS, BookList, BookRecord
from mirror import registry
from mirror.read import read
from mirror.shapes import shape_of

LARGEST_ID: Final = 2**63 - 1


def find_books(text: str = "", sort: str = "", after: str = "") -> BookList:
    """The books that the query ``text`` finds, in the order ``sort``, from the cursor ``after`` on.

    An unknown sort is the first of SORTS, a cursor that is not ours the first page. From a warm mirror: at
    most 2 round trips and no SQL.
    """
    order: sql.Order = next((name for name in SORTS if name == sort), "popular")
    try:
        node = _parse(text)
    except query.QueryError as error:
        return BookList(text, order, error, None, NOTHING, [])
    position = cursor.read(after, order) if after else None
    found, books = _from_redis(node, order, position) or _from_sql(node, order, position)
    return BookList(text, order, None, node, found, books)


_parse = lru_cache(maxsize=512)(query.parse)

Answer = tuple[Found, list[BookRecord]]


def _from_redis(node: query.Node | None, order: sql.Order, after: sql.Position | None) -> Answer | None:
    """The answer, and the page's records; None if the mirror is cold, or away, or the copy is behind."""

    def records(pipe: Any, found: Found) -> None:
        if found.positions:
            pipe.mget([keys.book(pk) for pk in _page(found)])

    answer = copy.ask(lambda index: index.find(node, order, after, PAGE + 1), records)
    if answer is None:
        return None
    found, replies = answer
    raws = replies[0] if replies else []
    return None if None in raws else (found, list(map(BookRecord, raws)))


def _from_sql(node: query.Node | None, order: sql.Order, after: sql.Position | None) -> Answer:
    found = by_sql(node, order, after, PAGE + 1)
    return found, _records_by_sql(_page(found))


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
