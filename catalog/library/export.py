"""A reader's library as a table with the columns of Goodreads, and as JSON."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final

import orjson

from catalog.library.reviews import find_reviews
from catalog.lists.models import ListedBook
from catalog.models import Book
from catalog.shelves.models import EarlierReading, Precision, Shelf, ShelfEntry
from catalog.shelves.records import count_stars
from common.csv_lines import write_lines
from common.database import split_slices

COLUMNS: Final = (
    "Book Id", "Title", "Author", "Author l-f", "Additional Authors", "ISBN", "ISBN13", "My Rating", "Average Rating",
    "Publisher", "Binding", "Number of Pages", "Year Published", "Original Publication Year", "Date Read",
    "Date Added", "Bookshelves", "Bookshelves with positions", "Exclusive Shelf", "My Review", "Spoiler",
    "Private Notes", "Read Count", "Owned Copies",
)  # fmt: skip
SHELF_NAMES: Final = {Shelf.WANT: "to-read", Shelf.READING: "currently-reading"}
ROWS_IN_MEMORY: Final = 500

Row = dict[str, Any]


def write_csv(user_id: int) -> Iterator[str]:
    """Yield the lines of a CSV file with the columns of Goodreads, which other services import."""
    return write_lines(COLUMNS, (_build_line(row) for row in _read_books(user_id)))


def write_json(user_id: int) -> Iterator[bytes]:
    """Yield a JSON list with a line for each book."""
    start = b"[\n"
    for row in _read_books(user_id):
        del row["goodreads_id"]
        yield start + orjson.dumps(row)
        start = b",\n"
    yield b"[]\n" if start == b"[\n" else b"\n]\n"


def _build_line(row: Row) -> list[object]:
    authors = row["authors"] or [""]
    first, _, last = authors[0].rpartition(" ")
    values = {
        "Book Id": row["goodreads_id"] or "",
        "Title": row["title"],
        "Author": authors[0],
        "Author l-f": f"{last}, {first}" if first else authors[0],
        "Additional Authors": ", ".join(authors[1:]),
        "ISBN13": row["isbn"],
        # A service reads whole stars; the exact rating is in the JSON file.
        "My Rating": int((row["rating"] or 0) + 0.5),
        "Original Publication Year": "" if row["year"] is None else row["year"],
        "Date Read": _find_date_read(row["readings"]).replace("-", "/"),
        "Date Added": (row["shelved_on"] or "").replace("-", "/"),
        # Commas separate the names of lists.
        "Bookshelves": ", ".join(name.replace(",", " ") for name in row["lists"]),
        "Exclusive Shelf": SHELF_NAMES.get(row["shelf"], row["shelf"]),
        "My Review": row["review"],
        "Read Count": _count_readings(row),
    }
    return list(map(values.get, COLUMNS, [""] * len(COLUMNS)))


def _find_date_read(readings: list[dict[str, str | None]]) -> str:
    """Return the last date on which the book was finished, or a year; "" if there is neither."""
    for one in readings:
        if one["finished_on"]:
            return one["finished_on"]
    return ""


def _count_readings(row: Row) -> int:
    count = 0
    for one in row["readings"]:
        count += one["finished_on"] is not None
    return count or int(row["shelf"] == Shelf.READ)


def _read_books(user_id: int) -> Iterator[Row]:
    """Yield the books on a reader's shelves and lists, by book, with a few statements for each slice."""
    shelved = ShelfEntry.objects.filter(user_id=user_id).values_list("book_id", flat=True)
    listed = ListedBook.objects.filter(reading_list__user_id=user_id).values_list("book_id", flat=True)
    ids = shelved.union(listed).order_by("book_id")
    # No transaction holds the rows: a long download sees changes of other tabs.
    for some in split_slices(ids.iterator(chunk_size=ROWS_IN_MEMORY)):
        yield from _Slice(user_id, some).build_rows()


class _Slice:
    """What a reader has of some books."""

    def __init__(self, user_id: int, ids: list[int]) -> None:
        self.ids = ids
        self.entries = _group(ShelfEntry.objects.filter(user_id=user_id, book_id__in=ids))
        earlier = EarlierReading.objects.filter(user_id=user_id, book_id__in=ids)
        self.earlier = _group(earlier.order_by("-finished_on", "-pk"))
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
            "readings": [],
            "lists": [one.reading_list.name for one in self.listed.get(book.pk, ())],
            "review": self.reviews.get(book.pk, ""),
        }
        for entry in self.entries.get(book.pk, ()):
            row["shelf"], row["rating"] = entry.shelf, count_stars(entry.stars)
            row["shelved_on"] = entry.shelved_on.isoformat()
            if entry.started_on or entry.finished_on:
                row["readings"].append(_describe_reading(entry))
        row["readings"] += map(_describe_reading, self.earlier.get(book.pk, ()))
        return row


def _group(rows: Iterable[Any]) -> Mapping[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for row in rows:
        found.setdefault(row.book_id, []).append(row)
    return found


def _describe_reading(one: ShelfEntry | EarlierReading) -> dict[str, str | None]:
    """Return the dates of a reading, a year as "2019"."""
    finished = _write_day(one.finished_on)
    if finished and one.finished_precision == Precision.YEAR:
        finished = finished[:4]
    return {"started_on": _write_day(one.started_on), "finished_on": finished}


def _write_day(day: date | None) -> str | None:
    return day.isoformat() if day else None
