"""A folder in goodbooks format, made by hand: each row has its own kind of dirt."""

import csv
import io
from pathlib import Path

BOOK = {
    "book_id": "1", "goodreads_book_id": "101", "best_book_id": "101", "isbn": "439023483",
    "isbn13": "9.78043902348e+12", "authors": "Ann Author", "original_publication_year": "2008.0",
    "original_title": "Original", "title": "A Title", "language_code": "eng", "average_rating": "4.34",
    "ratings_count": "4780653",
}  # fmt: skip


def books_csv(*rows: dict[str, str]) -> str:
    """A books.csv in which each row is BOOK but for what it says."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(BOOK))
    writer.writeheader()
    writer.writerows({**BOOK, **row} for row in rows)
    return out.getvalue()


def tags_csv(*rows: tuple[str, str]) -> str:
    """A tags.csv of (number, name)."""
    return _csv("tag_id", "tag_name", rows=rows)


def links_csv(*rows: tuple[str, str]) -> str:
    """A book_tags.csv of (goodreads number, tag number)."""
    return _csv("goodreads_book_id", "tag_id", "count", rows=[(*row, "1") for row in rows])


def _csv(*header: str, rows: object) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([header, *rows])  # type: ignore[misc]
    return out.getvalue()


def write(folder: Path, books: str | bytes, tags: str | bytes = "", links: str | bytes = "") -> Path:
    """Write the three files; what is not given has a header only."""
    files = {"books.csv": books, "tags.csv": tags or tags_csv(), "book_tags.csv": links or links_csv()}
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
