"""Write small folders in the goodbooks format, and read such folders independently of the importer."""

import csv
import io
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import regex
from django.conf import settings

BOOK = {
    "book_id": "1", "goodreads_book_id": "101", "best_book_id": "101", "isbn": "439023483",
    "isbn13": "9.78043902348e+12", "authors": "Ann Author", "original_publication_year": "2008.0",
    "original_title": "Original", "title": "A Title", "language_code": "eng", "average_rating": "4.34",
    "ratings_count": "4780653",
}  # fmt: skip


def books_csv(*rows: dict[str, str]) -> str:
    """Return the text of a books.csv with one row per argument: ``BOOK`` with these columns replaced."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(BOOK))
    writer.writeheader()
    writer.writerows({**BOOK, **row} for row in rows)
    return out.getvalue()


def tags_csv(*rows: tuple[str, str]) -> str:
    """Return the text of a tags.csv with (number, name) rows."""
    return _csv("tag_id", "tag_name", rows=rows)


def links_csv(*rows: tuple[str, str] | tuple[str, str, str]) -> str:
    """Return the text of a book_tags.csv with (goodreads number, tag number[, count]) rows; the count defaults to 1."""
    return _csv("goodreads_book_id", "tag_id", "count", rows=[(*row, "1")[:3] for row in rows])


def _csv(*header: str, rows: object) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([header, *rows])  # type: ignore[misc]
    return out.getvalue()


def write(folder: Path, books: str | bytes, tags: str | bytes = "", links: str | bytes = "") -> Path:
    """Write the three files into ``folder`` and return it; a file without content gets a header only."""
    files = {"books.csv": books, "tags.csv": tags or tags_csv(), "book_tags.csv": links or links_csv()}
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def write_first_books(folder: Path, target: Path, count: int, *, all_tags: bool = True) -> Path:
    """Write the first books of a folder, in its order, with their tags. Return ``target``.

    all_tags: also write the names of tags that none of these books has.
    """
    books = list(islice(read_rows(folder, "books.csv"), count))
    numbers = {row["goodreads_book_id"] for row in books}
    links = [row for row in read_rows(folder, "book_tags.csv") if row["goodreads_book_id"] in numbers]
    used = {row["tag_id"] for row in links}
    tags = [row for row in read_rows(folder, "tags.csv") if all_tags or row["tag_id"] in used]
    _write_rows(target / "books.csv", books)
    _write_rows(target / "tags.csv", tags)
    _write_rows(target / "book_tags.csv", links)
    return target


def _write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def read_rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a file as dictionaries."""
    with (folder / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def read_tagged(folder: Path) -> dict[str, set[int]]:
    """Return the book_ids that have each tag, read from the files only."""
    books = {row["goodreads_book_id"]: int(row["book_id"]) for row in read_rows(folder, "books.csv")}
    names = {row["tag_id"]: fold(row["tag_name"]) for row in read_rows(folder, "tags.csv")}
    tagged: dict[str, set[int]] = defaultdict(set)
    for row in read_rows(folder, "book_tags.csv"):
        tagged[names[row["tag_id"]]].add(books[row["goodreads_book_id"]])
    return tagged


def fold(name: str) -> str:
    """Return the canonical name of a tag, computed without the importer's code."""
    seen = regex.sub(r"\p{Default_Ignorable_Code_Point}", "", name)
    lower = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold()).replace("i\u0307", "i")
    for letter, other in ("ıi", "‘'", "’'", "ʻ'", "ʼ'", "‐-"):
        lower = lower.replace(letter, other)
    folded = " ".join(lower.split())
    return settings.CATALOG_TAG_ALIASES.get(folded, folded)
