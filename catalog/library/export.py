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
        yield start + orjson.dumps({name: value for name, value in row.items() if name != "goodreads_id"})
        start = b",\n"
    yield b"[]\n" if start == b"[\n" else b"\n]\n"


def _build_line(row: Row) -> list[object]:
    authors = row["authors"] or [""]
    first, _, last = authors[0].rpartition(" ")
    # A service reads whole stars; the exact rating is in the JSON file.
    stars = int(row["rating"] + 0.5) if row["rating"] else 0
    isbn = row["isbn"]
    values = {
        "Book Id": row["goodreads_id"] or "",
        "Title": row["title"],
        "Author": authors[0],
        "Author l-f": f"{last}, {first}" if first else authors[0],
        "Additional Authors": ", ".join(authors[1:]),
        "ISBN13": isbn,
        "My Rating": stars,
        "Original Publication Year": "" if row["year"] is None else row["year"],
        "Date Read": _write_date(row["readings"][0]["finished_on"] if row["readings"] else None),
        "Date Added": _write_date(row["shelved_on"]),
        "Bookshelves": ", ".join(name.replace(",", " ") for name in row["lists"]),
        "Exclusive Shelf": SHELF_NAMES.get(row["shelf"], row["shelf"]),
        "My Review": row["review"],
        "Read Count": sum(1 for one in row["readings"] if one["finished_on"]) or int(row["shelf"] == Shelf.READ),
    }
    return [values.get(name, "") for name in COLUMNS]


def _write_date(text: str | None) -> str:
    """Return a date as Goodreads writes it. A year has no day there, so it is left alone."""
    return (text or "").replace("-", "/")


def _read_books(user_id: int) -> Iterator[Row]:
    """Yield the books on a reader's shelves and lists, by book, with a few statements for each slice."""
    shelved = ShelfEntry.objects.filter(user_id=user_id).values_list("book_id", flat=True)
    listed = ListedBook.objects.filter(reading_list__user_id=user_id).values_list("book_id", flat=True)
    ids = shelved.union(listed).order_by("book_id")
    for some in split_slices(ids.iterator(chunk_size=ROWS_IN_MEMORY)):
        yield from _build_rows(user_id, some)


def _build_rows(user_id: int, ids: list[int]) -> Iterator[Row]:
    entries = {one.book_id: one for one in ShelfEntry.objects.filter(user_id=user_id, book_id__in=ids)}
    earlier = _group(EarlierReading.objects.filter(user_id=user_id, book_id__in=ids).order_by("-finished_on", "-pk"))
    lists = _group(ListedBook.objects.filter(reading_list__user_id=user_id, book_id__in=ids).select_related("reading_list"))
    reviews = find_reviews(user_id, ids)
    for book in Book.objects.filter(pk__in=ids).prefetch_related("authors").order_by("pk"):
        entry = entries.get(book.pk)
        readings = [entry] if entry and (entry.started_on or entry.finished_on) else []
        yield {
            "id": book.pk,
            "goodreads_id": book.goodreads_id,
            "title": book.title,
            "authors": [author.name for author in book.authors.all()],
            "isbn": book.isbn,
            "year": book.year,
            "shelf": entry.shelf if entry else "",
            "rating": count_stars(entry.stars) if entry else None,
            "shelved_on": entry.shelved_on.isoformat() if entry else None,
            "readings": [_describe_reading(one) for one in [*readings, *earlier.get(book.pk, [])]],
            "lists": [one.reading_list.name for one in lists.get(book.pk, [])],
            "review": reviews.get(book.pk, ""),
        }


def _group(rows: Iterable[Any]) -> Mapping[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for row in rows:
        found.setdefault(row.book_id, []).append(row)
    return found


def _describe_reading(one: ShelfEntry | EarlierReading) -> dict[str, str | None]:
    """Return the dates of a reading, a year as "2019"."""
    is_year = one.finished_precision == Precision.YEAR
    return {"started_on": _iso(one.started_on), "finished_on": _iso(one.finished_on, is_year=is_year)}


def _iso(day: date | None, *, is_year: bool = False) -> str | None:
    if day is None:
        return None
    return str(day.year) if is_year else day.isoformat()
