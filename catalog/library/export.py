"""A reader's library as a table with the columns of Goodreads, and as JSON."""

from collections.abc import Iterable, Iterator
from typing import Final

import orjson

from catalog.library.export_rows import Row, read_books, read_lists, read_shelves
from catalog.shelves.models import Shelf
from common.csv import write_lines

JSON_VERSION: Final = 1
COLUMNS: Final = (
    "Book Id", "Title", "Author", "Author l-f", "Additional Authors", "ISBN", "ISBN13", "My Rating", "Average Rating",
    "Publisher", "Binding", "Number of Pages", "Year Published", "Original Publication Year", "Date Read",
    "Date Added", "Bookshelves", "Bookshelves with positions", "Exclusive Shelf", "My Review", "Spoiler",
    "Private Notes", "Read Count", "Owned Copies",
)  # fmt: skip
SHELF_NAMES: Final = {Shelf.WANT: "to-read", Shelf.READING: "currently-reading"}


def write_csv(user_id: int) -> Iterator[str]:
    """Yield the lines of a CSV file with the columns of Goodreads, which other services import."""
    return write_lines(COLUMNS, (_build_line(row) for row in read_books(user_id)))


def write_json(user_id: int) -> Iterator[bytes]:
    """Yield a JSON object: ``{"version": 1, "shelves": [...], "lists": [...], "books": [...]}``. Dates: ISO 8601.

    shelves: ``name`` and ``privacy`` ("public", "followers" or "me").

    lists, oldest first: ``name``, ``description``, ``privacy``, ``order`` ("hand": the reader's own, or "added": the
    last added book first), ``created_at``, and ``books`` in the reader's own order, each with its ``id`` in "books" and
    ``added_on``.

    books: those on shelves and lists, and those with a review. ``id``: of the book on this site. ``title``, ``authors``
    (names), ``isbn`` (thirteen digits or ""), ``year``. ``shelf``: "want-to-read", "reading", "read", "did-not-finish",
    or "" for a book that is on no shelf. ``rating``: in stars, such as 3.5, or null. ``shelved_on``: date or null.
    ``pages``: of the reader's own edition, or null. ``lists``: their names. ``review``: Markdown or "". ``readings``:
    the present or latest one first. ``state``: "reading", "finished", "abandoned", or null for one that was broken off.
    ``started_on`` and ``finished_on``: date, year ("2019", only the end) or null. ``progress``: the first one first,
    each with ``noted_on``, ``page`` or ``percent``, and ``note``.
    """
    yield b'{"version": %d,\n"shelves": ' % JSON_VERSION
    yield orjson.dumps(read_shelves(user_id))
    yield b',\n"lists": '
    yield from _write_array(read_lists(user_id))
    yield b',\n"books": '
    yield from _write_array(read_books(user_id))
    yield b"}\n"


def _write_array(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield a JSON array with a line for each row."""
    start = b"[\n"
    for row in rows:
        row.pop("goodreads_id", None)
        yield start + orjson.dumps(row)
        start = b",\n"
    yield b"[]" if start == b"[\n" else b"\n]"


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
        "Number of Pages": row["pages"] or "",
        "Original Publication Year": "" if row["year"] is None else row["year"],
        "Date Read": _find_date_read(row).replace("-", "/"),
        "Date Added": (row["shelved_on"] or "").replace("-", "/"),
        # Commas separate the names of lists.
        "Bookshelves": ", ".join(name.replace(",", " ") for name in row["lists"]),
        "Exclusive Shelf": SHELF_NAMES.get(row["shelf"], row["shelf"]),
        "My Review": row["review"],
        "Read Count": _count_readings(row),
    }
    return list(map(values.get, COLUMNS, [""] * len(COLUMNS)))


def _find_date_read(row: Row) -> str:
    """Return the last date on which the book was finished, or a year; "" if there is neither.

    The date of a book on "did not finish" is that on which the reader abandoned it.
    """
    counted = "abandoned" if row["shelf"] == Shelf.ABANDONED else "finished"
    days = [str(one["finished_on"]) for one in row["readings"] if one["finished_on"] and one["state"] == counted]
    return max(days, default="")


def _count_readings(row: Row) -> int:
    """Return the number of readings as Goodreads counts them: earlier ones, and that of the shelf."""
    count = int(row["shelf"] not in ("", Shelf.WANT))
    for one in row["readings"][count:]:
        count += one["state"] == "finished"
    return count
