"""A book as it is shown: one record, built from SQL alike for Redis and for the pages that SQL answers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson
from django.db import connections

from catalog.series import series_in
from mirror.conf import setting

Record = dict[str, Any]
TOP_TAGS: Final = 10  # that a book's page shows at once


class GivenTag(NamedTuple):
    """A tag of a book, and how many readers gave it."""

    name: str
    readers: int
    hidden: bool


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
    tags: list[GivenTag]
    authors: list[str]
    author_ids: list[int]


# The ids of tags and authors come as one list a book, and their names by two more statements: joined in SQL,
# 330,294 pairs cost three to four times as much, and PostgreSQL reads all tags to name those of one book.
_BOOKS = (
    "SELECT b.id, b.title, b.sort_title, b.year, b.language, b.isbn, b.popularity, b.rating, {tags}, {authors}"
    " FROM catalog_book b WHERE b.id {among}"
)
_SQLITE = _BOOKS.format(
    tags="(SELECT json_group_object(l.tag_id, l.imported_count) FROM catalog_book_tags l WHERE l.book_id = b.id)",
    authors="(SELECT json_group_array(author_id) FROM"
    " (SELECT author_id FROM catalog_book_authors l WHERE l.book_id = b.id ORDER BY l.id))",
    among="IN (SELECT value FROM json_each(%s))",
)
_POSTGRESQL = _BOOKS.format(
    tags="(SELECT json_object_agg(l.tag_id, l.imported_count)::text FROM catalog_book_tags l WHERE l.book_id = b.id)",
    authors="ARRAY(SELECT l.author_id FROM catalog_book_authors l WHERE l.book_id = b.id ORDER BY l.id)",
    among="= ANY(%s)",
)


def load_books(ids: Sequence[int]) -> list[BookRow]:
    """The books among ``ids`` that there are, in no order: four statements, however many they are."""
    connection = connections[setting("DATABASE")]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_POSTGRESQL, [list(ids)])
            rows = cursor.fetchall()
            author_ids = [row[9] for row in rows]
        else:
            cursor.execute(_SQLITE, [orjson.dumps(list(ids)).decode()])
            rows = cursor.fetchall()
            author_ids = [orjson.loads(row[9]) for row in rows]
        counts = [{int(pk): count for pk, count in orjson.loads(row[8] or "{}").items()} for row in rows]
        votes = _votes(cursor, ids)
        tags = _tags(cursor, set().union(*counts))
        authors = _names(cursor, "catalog_author", set().union(*author_ids))
    return [
        BookRow._make(
            (
                *row[:8],
                _given(tags, of_tags, votes.get(row[0], {})),
                _named(authors, of_authors),
                _present(authors, of_authors),
            )
        )
        for row, of_tags, of_authors in zip(rows, counts, author_ids, strict=True)
    ]


def load_tags(ids: Sequence[int]) -> dict[int, tuple[str, bool]]:
    """Return the names of the tags among ``ids`` that there are, and whether they are hidden."""
    with connections[setting("DATABASE")].cursor() as cursor:
        return _tags(cursor, ids)


def _tags(cursor: Any, ids: Iterable[int]) -> dict[int, tuple[str, bool]]:
    rows = _rows(cursor, "SELECT id, name, hidden FROM catalog_tag WHERE id", ids)
    return {pk: (name, bool(hidden)) for pk, name, hidden in rows}


def _votes(cursor: Any, books: Iterable[int]) -> dict[int, dict[int, int]]:
    """Return how many readers of this shop gave each of these books which tag."""
    found: dict[int, dict[int, int]] = {}
    select = "SELECT book_id, tag_id, COUNT(*) FROM catalog_tagvote WHERE book_id"
    for book, tag, count in _rows(cursor, select, books, "GROUP BY book_id, tag_id"):
        found.setdefault(book, {})[tag] = count
    return found


def _given(tags: Mapping[int, tuple[str, bool]], counts: Mapping[int, int], votes: Mapping[int, int]) -> list[GivenTag]:
    """Return a book's tags, without those that were deleted between the statements."""
    return [GivenTag(tags[pk][0], count + votes.get(pk, 0), tags[pk][1]) for pk, count in counts.items() if pk in tags]


def _rows(cursor: Any, select: str, ids: Iterable[int], end: str = "") -> list[Any]:
    """Return the rows of a statement that ends with the column that is to be one of ``ids``."""
    if cursor.db.vendor == "postgresql":
        cursor.execute(f"{select} = ANY(%s) {end}", [list(ids)])
    else:
        cursor.execute(f"{select} IN (SELECT value FROM json_each(%s)) {end}", [orjson.dumps(list(ids)).decode()])
    return list(cursor.fetchall())


def _names(cursor: Any, table: str, ids: Iterable[int]) -> dict[int, str]:
    return dict(_rows(cursor, f"SELECT id, name FROM {table} WHERE id", ids))


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
    the order of authors, series as the title names them. top_tags: those that most readers gave, most first; they and
    what else is shown leave out hidden_tags.
    """
    shown = sorted((-tag.readers, tag.name) for tag in row.tags if not tag.hidden)
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
        "tags": sorted(tag.name for tag in row.tags),
        "top_tags": [{"name": name, "count": -less} for less, name in shown[:TOP_TAGS]],
        "hidden_tags": sorted(tag.name for tag in row.tags if tag.hidden),
    }


def book_records(ids: Sequence[int]) -> list[Record]:
    """The records of ``ids``, in that order, without those that do not exist."""
    found = {row.id: record(row) for row in load_books(ids)}
    return [found[pk] for pk in ids if pk in found]
