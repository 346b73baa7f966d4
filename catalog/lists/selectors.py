"""Read lists from Redis or, with the same answer, from SQL.

These functions check no permission. Callers show other readers' lists only as their ``privacy`` allows.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

import orjson

from catalog import keys
from catalog.books import extras
from catalog.books.records import BookRecord
from catalog.lists.mirrors import ListedBookMirror, ReadingListMirror
from catalog.lists.models import MAX_LISTS, Order
from catalog.mirrors import BookMirror
from catalog.shelves.models import Privacy
from common.ids import MAX_ID, parse_id
from mirror import Place, Record, together
from mirror.read import read_from_sql

PAGE_SIZE: Final = 20  # books
MAX_COVERS: Final = 4  # books whose covers stand for a list
MAX_PUBLIC: Final = 10  # public lists that the page of a book reads


class CountedList(NamedTuple):
    """A list, the number of its books, and the first of them if they were asked for."""

    fields: Record
    books: int
    first_books: Sequence[BookRecord] = ()

    @property
    def json(self) -> dict[str, Any]:
        """The list in the form of JSON answers."""
        shown = {name: self.fields[name] for name in ("id", "name", "description", "privacy", "order")}
        return {**shown, "count": self.books}


class PlacedBook(NamedTuple):
    """A book on a list. place: its number in the list's order."""

    place: int
    fields: Record
    book: BookRecord

    @property
    def json(self) -> dict[str, Any]:
        """The book in the form of JSON answers."""
        return {"place": self.place, "book": orjson.Fragment(self.book.raw), "added_on": self.fields["added_on"]}


class ListPage(NamedTuple):
    """A page of a list. after: the cursor of the next page, or None on the last page."""

    books: list[PlacedBook]
    total: int
    after: str | None


def get_list(list_id: int) -> Record | None:
    """Return the record of an active reader's list, or None. From a warm mirror: 1 round trip and no SQL."""
    return ReadingListMirror.get(list_id) if 0 < list_id <= MAX_ID else None


def find_lists(user_id: int, levels: Collection[str], *, has_books: bool = False) -> list[CountedList]:
    """Return a reader's lists with one of these privacy levels, newest first. has_books: with their first books.

    From warm mirrors: 3 round trips and no SQL; with books 5 round trips.
    """
    ids = ReadingListMirror.top(keys.lists_of(user_id), MAX_LISTS)
    records = ReadingListMirror.get_many(ids)
    shown = [records[pk] for pk in ids if pk in records and records[pk]["privacy"] in levels]
    with together() as reads:
        counts = [reads(ListedBookMirror.count, keys.books_by_position(record["id"])) for record in shown]
        books = [reads(_find_first_books, record) for record in shown] if has_books else []
    found: list[CountedList] = []
    for number, record in enumerate(shown):
        first_books = books[number].value if has_books else ()
        found.append(CountedList(record, counts[number].value, first_books))
    return found


def _find_first_books(record: Record) -> list[BookRecord]:
    """Return the first books of a list, in its order."""
    key, is_descending = _find_order(record)
    places = ListedBookMirror.page(key, MAX_COVERS, descending=is_descending)
    rows = ListedBookMirror.get_many([place.pk for place in places])
    books = BookMirror.get_many([row["book"] for row in rows.values()])
    ordered = [rows[place.pk]["book"] for place in places if place.pk in rows]
    return [books[pk] for pk in ordered if pk in books]


def _find_order(record: Record) -> tuple[str, bool]:
    """Return the key of a list's order, and whether it descends."""
    if record["order"] == Order.HAND:
        return keys.books_by_position(record["id"]), False
    return keys.books_by_addition(record["id"]), True


def find_lists_with(user_id: int, book_id: int) -> set[int]:
    """Return the ids of the reader's lists that contain a book. From a warm mirror: 2 round trips and no SQL."""
    rows = ListedBookMirror.get_many(ListedBookMirror.members(keys.listings_of(user_id, book_id)))
    return {row["list"] for row in rows.values()}


def find_public_lists(row_ids: Sequence[int]) -> list[Record]:
    """Return the lists of these rows, which the page of a book has read. From warm mirrors: 2 round trips, no SQL."""
    rows = ListedBookMirror.get_many(row_ids)
    lists = ReadingListMirror.get_many([rows[pk]["list"] for pk in row_ids if pk in rows])
    # The list may have become private since the first read.
    return [record for record in lists.values() if record["privacy"] == Privacy.PUBLIC]


def register_extra() -> None:
    """Let the page of a book read the newest public lists with it, in the round trip of the book."""

    def load(book_id: int) -> list[int]:
        with read_from_sql():
            found: list[int] = ListedBookMirror.top(keys.public_listings(book_id), MAX_PUBLIC)
        return found

    extras.page_extras.register(
        extras.Extra(
            name="listings",
            mirrors=["listed_book"],
            add_commands=lambda pipe, book_id: pipe.zrevrange(keys.public_listings(book_id), 0, MAX_PUBLIC - 1),
            parse_replies=lambda book_id, ids: list(map(int, ids)),
            read_from_sql=load,
            fields=lambda ids: {},
        )
    )


def find_list_page(record: Record, after: str = "") -> ListPage:
    """Return the page of a list after the cursor ``after``. An invalid cursor means the first page.

    From warm mirrors: 2 round trips and no SQL.
    """
    key, is_descending = _find_order(record)
    start, position = _parse_cursor(after)
    with together() as reads:
        total = reads(ListedBookMirror.count, key)
        found = reads(ListedBookMirror.page, key, PAGE_SIZE + 1, after=position, descending=is_descending)
    places = found.value[:PAGE_SIZE]
    rows = ListedBookMirror.get_many([place.pk for place in places])
    books = BookMirror.get_many([row["book"] for row in rows.values()])
    shown = []
    for number, place in enumerate(places, start + 1):
        row = rows.get(place.pk)
        if row and row["book"] in books:
            shown.append(PlacedBook(number, row, books[row["book"]]))
    goes_on = len(found.value) > PAGE_SIZE
    return ListPage(shown, total.value, _build_cursor(start + PAGE_SIZE, places[-1]) if goes_on else None)


def _build_cursor(place: int, last: Place) -> str:
    return f"{place}.{int(last.score)}.{last.pk}"


def _parse_cursor(text: str) -> tuple[int, Place | None]:
    """Return the number of books before the page, and the last one of them."""
    place, _, rest = text.partition(".")
    score, _, pk = rest.partition(".")
    sign = -1 if score.startswith("-") else 1
    numbers = [parse_id(part) for part in (place, score.removeprefix("-"), pk)]
    if None in numbers:
        return 0, None
    count, size, row = (number or 0 for number in numbers)
    return count, Place(row, float(sign * size))
