"""Read shelves from Redis or, with the same answer, from SQL.

These functions check no permission. Callers show other readers' shelves only as ``Shelves.privacy`` allows.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, NamedTuple

import orjson
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from catalog import keys
from catalog.books.records import load_book_records
from catalog.listing.results import BookRecord
from catalog.shelves.models import PRIVACY_FIELDS, STARS, Privacy, Shelf, ShelfEntry, ShelfSettings
from catalog.shelves.records import (
    SHELVES,
    Record,
    build_entry_key,
    build_entry_record,
    build_position,
    load_entries,
    load_settings,
)
from mirror.conf import setting
from mirror.read import get_encoder, read
from mirror.redis import RedisPipeline

PAGE_SIZE: Final = 20  # books
ENTRY_MIRRORS: Final = ("shelf_entry",)
LAST_POSITION: Final = "9999-12-31 ~"  # sorts after every position

CardEntries = Sequence[Record | None]  # for each book on a page, its entry on the viewer's shelves


@dataclass(frozen=True)
class ShelvedBook:
    """A book on a shelf, and its record."""

    fields: Record
    book: BookRecord

    @property
    def json(self) -> dict[str, Any]:
        """The entry in the form of JSON answers."""
        names = ("stars", "shelved_on", "started_on", "finished_on")
        return {"book": orjson.Fragment(self.book.raw), **{name: self.fields[name] for name in names}}

    @property
    def dates(self) -> dict[str, date | None]:
        """The dates by name."""
        names = ("shelved_on", "started_on", "finished_on")
        return {name: date.fromisoformat(text) if (text := self.fields[name]) else None for name in names}


class ShelfSummary(NamedTuple):
    """A summary of a reader's shelves: privacy and number of books of each, the goal of a year (None: no goal), and the
    number of books finished in that year.
    """

    privacy: Mapping[str, str]
    counts: Mapping[str, int]
    goal: int | None
    finished: int

    def shown_to(self, levels: Collection[Privacy]) -> list[Shelf]:
        """Return the shelves with one of these privacy levels."""
        return [shelf for shelf in SHELVES if self.privacy[shelf] in levels]


class ShelfPage(NamedTuple):
    """A page of books of a shelf, latest date first. after: the cursor of the next page, or None on the last page."""

    entries: list[ShelvedBook]
    after: str | None


class BookReaders(NamedTuple):
    """The numbers of readers per shelf and per rating of a book; only public shelves count."""

    counts: Mapping[str, int]
    stars: Mapping[int, int]

    @property
    def ratings(self) -> int:
        """The number of ratings."""
        return sum(self.stars.values())

    @property
    def mean(self) -> float | None:
        """The mean rating, or None without ratings."""
        return sum(stars * count for stars, count in self.stars.items()) / self.ratings if self.ratings else None


# --- single entries -------------------------------------------------------------------------------


def find_entry(user_id: int, book_id: int) -> Record | None:
    """Return the record of a book on a reader's shelf, or None. From a warm mirror: 1 round trip and no SQL."""
    return find_entries(user_id, [book_id])[0]


def ask_for_entries(pipe: RedisPipeline, user_id: int, book_ids: Sequence[int]) -> None:
    """Add the command that reads these books on a reader's shelves. It needs the mirrors ENTRY_MIRRORS."""
    pipe.mget([keys.shelf_entry(build_entry_key(user_id, pk)) for pk in book_ids])


def read_entries(replies: Sequence[bytes | None]) -> CardEntries:
    """Return the records in the reply to ``ask_for_entries``."""
    return [None if raw is None else orjson.loads(raw) for raw in replies]


def find_entries(user_id: int, book_ids: Sequence[int]) -> CardEntries:
    """Return the record of each book on a reader's shelves, or None. From a warm mirror: 1 round trip and no SQL."""
    if not book_ids:
        return []
    reading = read(ENTRY_MIRRORS, lambda pipe: ask_for_entries(pipe, user_id, book_ids))
    return load_entries_from_sql(user_id, book_ids) if reading is None else read_entries(reading.replies[0])


def load_entries_from_sql(user_id: int, book_ids: Sequence[int]) -> CardEntries:
    """Return the same records as ``find_entries``, from SQL."""
    found = _load_entries_by_book(user_id, book_ids) if book_ids else {}
    return list(map(found.get, book_ids))


def _load_entries_by_book(user_id: int, book_ids: Sequence[int]) -> dict[int, Record]:
    found = load_entries([(user_id, pk) for pk in book_ids]).values()
    return {row.book: build_entry_record(row) for row in found}


# --- a shelf --------------------------------------------------------------------------------------


def get_shelf_summary(user_id: int, year: int) -> ShelfSummary:
    """Return a summary of a reader's shelves. From warm mirrors: 1 round trip and no SQL."""

    def ask(pipe: RedisPipeline) -> None:
        pipe.get(keys.shelf_settings(user_id))
        for shelf in SHELVES:
            pipe.zcard(keys.shelf_of(user_id, shelf))
        pipe.zlexcount(keys.shelf_of(user_id, Shelf.READ), f"[{year:04}-", f"({year:04}~")

    reading = read(["shelf_settings", "shelf_entry"], ask)
    if reading is None:
        return _load_summary_from_sql(user_id, year)
    raw, *counts, finished = reading.replies
    return _build_summary(orjson.loads(raw) if raw else {}, dict(zip(SHELVES, counts, strict=True)), year, finished)


def _load_summary_from_sql(user_id: int, year: int) -> ShelfSummary:
    rows = ShelfEntry.objects.using(setting("DATABASE")).filter(user_id=user_id, user__is_active=True)
    in_year = Q(shelf=Shelf.READ, finished_on__year=year)
    found = rows.aggregate(
        finished=Count("pk", filter=in_year), **{shelf.name: Count("pk", filter=Q(shelf=shelf)) for shelf in SHELVES}
    )
    record = load_settings([user_id]).get(str(user_id), {})
    return _build_summary(record, {shelf: found[shelf.name] for shelf in SHELVES}, year, found["finished"])


def _build_summary(record: Record, counts: Mapping[Shelf, int], year: int, finished: int) -> ShelfSummary:
    privacy = {shelf.value: record.get("privacy", {}).get(shelf, Privacy.PUBLIC) for shelf in SHELVES}
    by_name = {shelf.value: count for shelf, count in counts.items()}
    return ShelfSummary(privacy, by_name, record.get("goals", {}).get(str(year)), finished)


def find_shelf_page(user_id: int, shelf: Shelf, after: str = "") -> ShelfPage:
    """Return the page of a reader's shelf after the cursor ``after``. An invalid cursor means the first page.

    From warm mirrors: 2 round trips and no SQL.
    """
    cursor = _parse_cursor(after)
    start = f"({build_position(*cursor)}" if cursor else f"[{LAST_POSITION}"

    def ask_positions(pipe: RedisPipeline) -> None:
        pipe.zrevrangebylex(keys.shelf_of(user_id, shelf), start, "-", start=0, num=PAGE_SIZE + 1)

    reading = read(["shelf_entry"], ask_positions)
    if reading is None:
        return _load_page_from_sql(user_id, shelf, cursor)
    positions = [member.decode() for member in reading.replies[0]]
    book_ids = [int(at.rpartition(" ")[2]) for at in positions[:PAGE_SIZE]]
    if not book_ids:
        return ShelfPage([], None)

    def ask_records(pipe: RedisPipeline) -> None:
        ask_for_entries(pipe, user_id, book_ids)
        pipe.mget([keys.book(pk) for pk in book_ids])

    reading = read(["shelf_entry", "book"], ask_records)
    if reading is None:
        return _load_page_from_sql(user_id, shelf, cursor)
    entries = [
        ShelvedBook(orjson.loads(raw), BookRecord(book))
        for raw, book in zip(*reading.replies, strict=True)
        if raw is not None and book is not None
    ]
    # A book that moved between the two round trips may now be on a shelf with another privacy.
    here = [entry for entry in entries if entry.fields["shelf"] == shelf]
    return ShelfPage(here, positions[PAGE_SIZE - 1] if len(positions) > PAGE_SIZE else None)


def _parse_cursor(text: str) -> tuple[date, int] | None:
    day, _, book = text.partition(" ")
    if not (book.isascii() and book.isdecimal() and len(book) == 19):
        return None
    try:
        return date.fromisoformat(day), int(book)
    except ValueError:
        return None


def _load_page_from_sql(user_id: int, shelf: Shelf, cursor: tuple[date, int] | None) -> ShelfPage:
    rows = ShelfEntry.objects.using(setting("DATABASE")).filter(user_id=user_id, user__is_active=True, shelf=shelf)
    if cursor:
        day, book = cursor
        rows = rows.filter(Q(sort_on__lt=day) | Q(sort_on=day, book_id__lt=book))
    found = list(rows.order_by("-sort_on", "-book_id").values_list("sort_on", "book_id")[: PAGE_SIZE + 1])
    book_ids = [pk for _, pk in found[:PAGE_SIZE]]
    fields, encode = _load_entries_by_book(user_id, book_ids), get_encoder("book")
    books = {record["id"]: BookRecord(encode(record)) for record in load_book_records(book_ids)} if book_ids else {}
    entries = [ShelvedBook(fields[pk], books[pk]) for pk in book_ids if pk in fields and pk in books]
    return ShelfPage(entries, build_position(*found[PAGE_SIZE - 1]) if len(found) > PAGE_SIZE else None)


# --- the readers of a book ------------------------------------------------------------------------


def count_readers(book_id: int) -> BookReaders:
    """Return the numbers of readers who shelved and rated a book.

    From a warm mirror: 1 round trip of 8 commands, no SQL.
    """

    def ask(pipe: RedisPipeline) -> None:
        for number in range(len(SHELVES)):
            pipe.zcount(keys.readers_of(book_id), number, number)
        for stars in STARS:
            pipe.zcount(keys.stars_of(book_id), stars, stars)

    reading = read(["shelf_entry"], ask)
    if reading is None:
        return _count_readers_in_sql(book_id)
    counts, stars = reading.replies[: len(SHELVES)], reading.replies[len(SHELVES) :]
    by_shelf = {shelf.value: count for shelf, count in zip(SHELVES, counts, strict=True)}
    return BookReaders(by_shelf, dict(zip(STARS, stars, strict=True)))


def _count_readers_in_sql(book_id: int) -> BookReaders:
    rows = find_public_entries().filter(book_id=book_id).values_list("shelf", "stars").annotate(n=Count("pk"))
    counts, by_stars = dict.fromkeys((shelf.value for shelf in SHELVES), 0), dict.fromkeys(STARS, 0)
    for shelf, stars, count in rows:
        counts[shelf] += count
        if stars:
            by_stars[stars] += count
    return BookReaders(counts, by_stars)


def find_public_entries() -> QuerySet[ShelfEntry]:
    """Return the entries of active readers on public shelves, as a query set."""
    hidden = Q(pk__in=[])
    for shelf, field in PRIVACY_FIELDS.items():
        private = ShelfSettings.objects.filter(pk=OuterRef("user_id")).exclude(**{field: Privacy.PUBLIC})
        hidden |= Q(Exists(private), shelf=shelf)
    return ShelfEntry.objects.using(setting("DATABASE")).filter(user__is_active=True).exclude(hidden)
