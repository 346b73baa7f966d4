"""Read a reader's library from SQL in slices, as the rows of exports."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final

from catalog.library.reviews import find_reviews, query_reviewed_books
from catalog.lists.models import ListedBook, ReadingList
from catalog.models import Book
from catalog.shelves.models import (
    PRIVACY_FIELDS,
    EarlierReading,
    Precision,
    ReadingProgress,
    Shelf,
    ShelfEntry,
    ShelfSettings,
)
from catalog.shelves.records import count_stars
from common.database import split_slices

ROWS_IN_MEMORY: Final = 500
STATES: Final = {Shelf.READING: "reading", Shelf.READ: "finished", Shelf.ABANDONED: "abandoned"}
PROGRESS_FIELDS: Final = ("noted_on", "page", "percent", "note")

Row = dict[str, Any]


def read_books(user_id: int) -> Iterator[Row]:
    """Yield the books on a reader's shelves and lists and those reviewed, with a few statements for each slice."""
    shelved = ShelfEntry.objects.filter(user_id=user_id).values_list("book_id", flat=True)
    listed = ListedBook.objects.filter(reading_list__user_id=user_id).values_list("book_id", flat=True)
    ids = shelved.union(listed, *query_reviewed_books(user_id)).order_by("book_id")
    # No transaction holds the rows: a long download sees changes of other tabs.
    for some in split_slices(ids.iterator(chunk_size=ROWS_IN_MEMORY)):
        yield from _Slice(user_id, some).build_rows()


def read_shelves(user_id: int) -> list[Row]:
    """Return the shelves with their privacy. 1 query."""
    settings = ShelfSettings.objects.filter(pk=user_id).first() or ShelfSettings()
    return [{"name": shelf.value, "privacy": getattr(settings, PRIVACY_FIELDS[shelf])} for shelf in Shelf]


def read_lists(user_id: int) -> Iterator[Row]:
    """Yield the lists, oldest first, each with its books in the reader's own order. 1 query and 1 for each list."""
    for one in ReadingList.objects.filter(user_id=user_id).order_by("pk"):
        books = ListedBook.objects.filter(reading_list=one).order_by("position", "pk")
        yield {
            "name": one.name,
            "description": one.description,
            "privacy": one.privacy,
            "order": one.order,
            "created_at": one.created_at.isoformat(),
            "books": [{"id": book, "added_on": day} for book, day in books.values_list("book_id", "added_on")],
        }


class _Slice:
    """What a reader has of some books."""

    def __init__(self, user_id: int, ids: list[int]) -> None:
        self.ids = ids
        owned = {"user_id": user_id, "book_id__in": ids}
        self.entries = _group(ShelfEntry.objects.filter(**owned))
        self.earlier = _group(EarlierReading.objects.filter(**owned).order_by("-finished_on", "-pk"))
        self.progress = _group(ReadingProgress.objects.filter(**owned).order_by("pk"))
        listed = ListedBook.objects.filter(reading_list__user_id=user_id, book_id__in=ids)
        self.listed = _group(listed.select_related("reading_list").order_by("reading_list__name"))
        self.reviews = find_reviews(user_id, ids)

    def build_rows(self) -> Iterator[Row]:
        """Yield a row for each book."""
        for book in Book.objects.filter(pk__in=self.ids).prefetch_related("authors").order_by("pk"):
            yield self._build_row(book)

    def _build_row(self, book: Book) -> Row:
        row: Row = {
            "id": book.pk,
            "goodreads_id": book.goodreads_id,
            "title": book.title,
            "authors": [author.name for author in book.authors.all()],
            "isbn": book.isbn,
            "year": book.year,
            "shelf": "",
            "rating": None,
            "shelved_on": None,
            "pages": None,
            "readings": [],
            "lists": [one.reading_list.name for one in self.listed.get(book.pk, ())],
            "review": self.reviews.get(book.pk, ""),
        }
        for entry in self.entries.get(book.pk, ()):
            row["shelf"], row["rating"], row["pages"] = entry.shelf, count_stars(entry.stars), entry.pages
            row["shelved_on"] = entry.shelved_on.isoformat()
        row["readings"] = list(self._build_readings(book.pk))
        return row

    def _build_readings(self, book_id: int) -> Iterator[Row]:
        for entry in self.entries.get(book_id, ()):
            progress = self._build_progress(book_id, None)
            # A book that the reader wants to read may have the start and progress of a reading that was broken off.
            if entry.shelf != Shelf.WANT or entry.started_on or entry.finished_on or progress:
                yield _build_reading(entry, STATES.get(Shelf(entry.shelf)), progress)
        for earlier in self.earlier.get(book_id, ()):
            state = STATES[Shelf.READ if earlier.is_finished else Shelf.ABANDONED]
            yield _build_reading(earlier, state, self._build_progress(book_id, earlier.pk))

    def _build_progress(self, book_id: int, reading_id: int | None) -> list[Row]:
        of_reading = [one for one in self.progress.get(book_id, ()) if one.reading_id == reading_id]
        return [{name: getattr(one, name) for name in PROGRESS_FIELDS} for one in of_reading]


def _build_reading(one: ShelfEntry | EarlierReading, state: str | None, progress: list[Row]) -> Row:
    """Return a reading, a year as "2019"."""
    finished = _write_day(one.finished_on)
    if finished and one.finished_precision == Precision.YEAR:
        finished = finished[:4]
    return {
        "state": state,
        "started_on": _write_day(one.started_on),
        "finished_on": finished,
        "progress": progress,
    }


def _group(rows: Iterable[Any]) -> Mapping[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for row in rows:
        found.setdefault(row.book_id, []).append(row)
    return found


def _write_day(day: date | None) -> str | None:
    return day.isoformat() if day else None
