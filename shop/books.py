"""Books by their ids, for pages that show several: in the round trip of something else, or in one of their own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from catalog import keys
from catalog.records import book_records
from catalog.results import BookRecord
from mirror import registry
from mirror.read import read
from mirror.shapes import shape_of


def ask_books(pipe: Any, ids: Sequence[int]) -> None:
    """Add the one command that reads these books (of none: nothing sensible). The mirror is "book"."""
    pipe.mget([keys.book(pk) for pk in ids] or [keys.book(0)])


def books_said(ids: Sequence[int], reply: Sequence[bytes | None]) -> dict[int, BookRecord]:
    """What the reply to ``ask_books`` says, by id."""
    return {pk: BookRecord(raw) for pk, raw in zip(ids, reply, strict=False) if raw is not None}


def get_books(ids: Sequence[int]) -> dict[int, BookRecord]:
    """The books among ``ids``, by id. From a warm mirror: 1 round trip and no SQL."""
    if not ids:
        return {}
    reading = read(["book"], lambda pipe: ask_books(pipe, ids))
    return books_by_sql(ids) if reading is None else books_said(ids, reading.replies[0])


def books_by_sql(ids: Sequence[int]) -> dict[int, BookRecord]:
    """As ``get_books``, the same bytes, from SQL."""
    encode = shape_of(registry.get("book")).encode
    return {record["id"]: BookRecord(encode(record)) for record in book_records(list(ids))}


def in_order(ids: Iterable[int], found: Mapping[int, BookRecord]) -> list[BookRecord]:
    """Those that were found, in the order of ``ids``."""
    return [found[pk] for pk in ids if pk in found]
