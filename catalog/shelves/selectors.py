"""Read shelves from Redis or, with the same answer, from SQL.

These functions check no permission. Callers show other readers' shelves only as ``Shelves.privacy`` allows.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final, NamedTuple

import orjson
from django.utils.formats import date_format

from catalog import keys
from catalog.books.records import BookRecord
from catalog.mirrors import BookMirror
from catalog.readings.progress import ShownProgress, read_progress
from catalog.shelves.arrangements import Arrangement, find_arranged
from catalog.shelves.mirrors import EarlierReadingMirror, ShelfEntryMirror, ShelfSettingsMirror
from catalog.shelves.models import STARS, Precision, Privacy, Shelf
from catalog.shelves.records import EPOCH, SHELVES, Record, build_entry_key, count_stars, to_score
from common.ids import parse_id
from mirror import Place, together
from mirror.redis import RedisPipeline

PAGE_SIZE: Final = 20  # books
ENTRY_MIRRORS: Final = ("shelf_entry",)

PLAIN: Final = Arrangement()

CardEntries = Sequence[Record | None]  # for each book on a page, its entry on the viewer's shelves


@dataclass(frozen=True)
class ShelvedBook:
    """A book on a shelf, and its record."""

    fields: Record
    book: BookRecord

    @property
    def json(self) -> dict[str, Any]:
        """The entry in the form of JSON answers."""
        answer: dict[str, Any] = {"book": orjson.Fragment(self.book.raw), "stars": count_stars(self.fields["stars"])}
        for name in ("shelved_on", "started_on", "finished_on", "finished_precision", "earlier", "progress"):
            answer[name] = self.fields[name]
        return answer

    @property
    def pages(self) -> int | None:
        """The number of pages of the reader's edition, or None."""
        return self.fields["pages"] or self.book["pages"]

    @property
    def progress(self) -> ShownProgress | None:
        """How far the reader has come, or None."""
        return read_progress(self.fields, self.book["pages"])

    @property
    def finish_text(self) -> str:
        """The end of the reading as text: a day, or a year."""
        text = self.fields["finished_on"]
        if self.fields["finished_precision"] == Precision.YEAR:
            return str(text[:4])
        return date_format(date.fromisoformat(text))

    @property
    def dates(self) -> dict[str, date | None]:
        """The dates by name."""
        found: dict[str, date | None] = {}
        for name in ("shelved_on", "started_on", "finished_on"):
            text = self.fields[name]
            found[name] = date.fromisoformat(text) if text else None
        return found


class ShelfSummary(NamedTuple):
    """A summary of a reader's shelves: privacy and number of books of each, the goal of a year (None: no goal), and the
    number of readings finished in that year.
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
    """The numbers of readers per shelf and per rating of a book, in halves of a star; only public shelves count."""

    counts: Mapping[str, int]
    stars: Mapping[int, int]

    @property
    def ratings(self) -> int:
        """The number of ratings."""
        return sum(self.stars.values())

    @property
    def mean(self) -> float | None:
        """The mean rating in stars, or None without ratings."""
        if not self.ratings:
            return None
        halves = sum(stars * count for stars, count in self.stars.items())
        return halves / 2 / self.ratings


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
    pks = [build_entry_key(user_id, pk) for pk in book_ids]
    found = ShelfEntryMirror.get_many(pks)
    return [found.get(pk) for pk in pks]


# --- a shelf --------------------------------------------------------------------------------------


def get_shelf_summary(user_id: int, year: int) -> ShelfSummary:
    """Return a summary of a reader's shelves. From warm mirrors: 1 round trip and no SQL."""
    with together() as reads:
        settings = reads(ShelfSettingsMirror.get, user_id)
        counts = {shelf: reads(ShelfEntryMirror.count, keys.shelf_of(user_id, shelf)) for shelf in SHELVES}
        days = {"low": date(year, 1, 1), "high": date(year, 12, 31)}
        latest = reads(ShelfEntryMirror.count, keys.shelf_of(user_id, Shelf.READ), **days)
        earlier = reads(EarlierReadingMirror.count, keys.readings_of(user_id), **days)
    record = settings.value or {}
    return ShelfSummary(
        privacy={shelf.value: record.get("privacy", {}).get(shelf, Privacy.PUBLIC) for shelf in SHELVES},
        counts={shelf.value: count.value for shelf, count in counts.items()},
        goal=record.get("goals", {}).get(str(year)),
        finished=latest.value + earlier.value,
    )


def find_shelf_page(
    user_id: int, shelf: Shelf, after: str = "", chosen: Arrangement = PLAIN, size: int = PAGE_SIZE
) -> ShelfPage:
    """Return ``size`` books of a reader's shelf after the cursor ``after``. An invalid cursor means the first page.

    From warm mirrors: 2 round trips and no SQL; with an order or filters 1 round trip and 1 or 2 queries.
    """
    if not chosen.is_plain:
        book_ids = find_arranged(user_id, shelf, chosen, parse_id(after) or 0, size + 1)
        cursor = str(book_ids[size - 1]) if len(book_ids) > size else None
        return ShelfPage(_find_shelved(user_id, shelf, book_ids[:size]), cursor)
    places = ShelfEntryMirror.page(keys.shelf_of(user_id, shelf), size + 1, after=_parse_cursor(after), descending=True)
    shown = places[:size]
    shelved = _find_shelved(user_id, shelf, [place.pk for place in shown])
    return ShelfPage(shelved, _build_cursor(shown[-1]) if len(places) > size else None)


def _find_shelved(user_id: int, shelf: Shelf, book_ids: Sequence[int]) -> list[ShelvedBook]:
    with together() as reads:
        entries = reads(find_entries, user_id, book_ids)
        books = reads(BookMirror.get_many, book_ids)
    return [
        ShelvedBook(fields, books.value[fields["book"]])
        for fields in entries.value
        # A book that moved between the two reads may now be on a shelf with another privacy.
        if fields and fields["shelf"] == shelf and fields["book"] in books.value
    ]


def _build_cursor(place: Place) -> str:
    return f"{EPOCH + timedelta(seconds=place.score)} {place.pk:019}"


def _parse_cursor(text: str) -> Place | None:
    day, _, book = text.partition(" ")
    # Exactly as a cursor is written. int() also accepts signs, blanks and other digits.
    if not (book.isascii() and book.isdecimal() and len(book) == 19):
        return None
    try:
        return Place(int(book), to_score(date.fromisoformat(day)))
    except ValueError:
        return None


# --- the readers of a book ------------------------------------------------------------------------


def count_readers(book_id: int) -> BookReaders:
    """Return the numbers of readers who shelved and rated a book.

    From a warm mirror: 1 round trip of 14 commands, no SQL.
    """
    with together() as reads:
        readers = reads(ShelfEntryMirror.counts, keys.readers_of(book_id), range(len(SHELVES)))
        ratings = reads(ShelfEntryMirror.counts, keys.stars_of(book_id), STARS)
    by_shelf = {shelf.value: readers.value[number] for number, shelf in enumerate(SHELVES)}
    return BookReaders(by_shelf, ratings.value)
