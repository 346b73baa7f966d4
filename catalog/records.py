"""A book as it is shown: one record, built from SQL alike for Redis and for the pages that SQL answers."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson
from django.db import connections

from catalog.series import series_in
from mirror.conf import setting

Record = dict[str, Any]


class BookRow(NamedTuple):
    """A book's values as the database gives them, its authors in their order, its tags in none."""

    id: int
    title: str
    sort_title: str
    year: int | None
    language: str
    isbn: str
    popularity: int
    rating: Any  # a number of the database's own kind, or None
    tags: list[str]
    authors: list[str]
    author_ids: list[int]


# The ids of tags and authors come as one list a book, and their names by two more statements: joined in SQL,
# 330,294 pairs cost three to four times as much, and PostgreSQL reads all tags to name those of one book.
_BOOKS = (
    "SELECT b.id, b.title, b.sort_title, b.year, b.language, b.isbn, b.popularity, b.rating, {tags}, {authors}"
    " FROM catalog_book b WHERE b.id {among}"
)
_SQLITE = _BOOKS.format(
    tags="(SELECT json_group_array(l.tag_id) FROM catalog_book_tags l WHERE l.book_id = b.id)",
    authors="(SELECT json_group_array(author_id) FROM"
    " (SELECT author_id FROM catalog_book_authors l WHERE l.book_id = b.id ORDER BY l.id))",
    among="IN (SELECT value FROM json_each(%s))",
)
_POSTGRESQL = _BOOKS.format(
    tags="ARRAY(SELECT l.tag_id FROM catalog_book_tags l WHERE l.book_id = b.id)",
    authors="ARRAY(SELECT l.author_id FROM catalog_book_authors l WHERE l.book_id = b.id ORDER BY l.id)",
    among="= ANY(%s)",
)


def load_books(ids: Sequence[int]) -> list[BookRow]:
    """The books among ``ids`` that there are, in no order: three statements, however many they are."""
    connection = connections[setting("DATABASE")]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_POSTGRESQL, [list(ids)])
            rows = cursor.fetchall()
            tag_ids, author_ids = [row[8] for row in rows], [row[9] for row in rows]
        else:
            cursor.execute(_SQLITE, [orjson.dumps(list(ids)).decode()])
            rows = cursor.fetchall()
            tag_ids, author_ids = [orjson.loads(row[8]) for row in rows], [orjson.loads(row[9]) for row in rows]
        tags = _names(cursor, "catalog_tag", set().union(*tag_ids))
        authors = _names(cursor, "catalog_author", set().union(*author_ids))
    return [
        BookRow._make((*row[:8], _named(tags, of_tags), _named(authors, of_authors), _present(authors, of_authors)))
        for row, of_tags, of_authors in zip(rows, tag_ids, author_ids, strict=True)
    ]


def tag_names(ids: Sequence[int]) -> dict[int, str]:
    """The names of the tags among ``ids`` that there are."""
    with connections[setting("DATABASE")].cursor() as cursor:
        return _names(cursor, "catalog_tag", ids)


def _names(cursor: Any, table: str, ids: Iterable[int]) -> dict[int, str]:
    if cursor.db.vendor == "postgresql":
        cursor.execute(f"SELECT id, name FROM {table} WHERE id = ANY(%s)", [list(ids)])
    else:
        among = "SELECT value FROM json_each(%s)"
        cursor.execute(f"SELECT id, name FROM {table} WHERE id IN ({among})", [orjson.dumps(list(ids)).decode()])
    return dict(cursor.fetchall())


def _named(names: dict[int, str], ids: list[int]) -> list[str]:
    """The names, without those that were deleted between the statements."""
    try:
        return list(map(names.__getitem__, ids))
    except KeyError:
        return [names[pk] for pk in ids if pk in names]


def _present(names: dict[int, str], ids: list[int]) -> list[int]:
    """The ids that ``_named`` gives the names of."""
    return [pk for pk in ids if pk in names]


def author_names(ids: Sequence[int]) -> dict[int, str]:
    """The names of the authors among ``ids`` that there are."""
    with connections[setting("DATABASE")].cursor() as cursor:
        return _names(cursor, "catalog_author", ids)


def record(row: BookRow) -> Record:
    """What the site shows of a book: tags sorted by code point, rating a number, year None if unknown, author_ids in
    the order of authors, series as the title names them.
    """
    return {
        "id": row.id,
        "title": row.title,
        "sort_title": row.sort_title,
        "authors": row.authors,
        "author_ids": row.author_ids,
        "series": [{"name": one.name, "number": one.number} for one in series_in(row.title)],
        "year": row.year,
        "language": row.language,
        "isbn": row.isbn,
        "popularity": row.popularity,
        "rating": None if row.rating is None else float(row.rating),
        "tags": sorted(row.tags),
    }


def book_records(ids: Sequence[int]) -> list[Record]:
    """The records of ``ids``, in that order, without those that do not exist."""
    found = {row.id: record(row) for row in load_books(ids)}
    return [found[pk] for pk in ids if pk in found]
