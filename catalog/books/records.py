"""Records of books. SQL builds the same record for Redis and for the pages that SQL answers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson
from django.db import connections
from django.db.backends.utils import CursorWrapper

from catalog.books.series import parse_series
from catalog.values.isbns import find_isbn
from mirror.conf import database
from mirror.read import RawRecord
from mirror.utils import arrays

Record = dict[str, Any]
MAX_TOP_TAGS: Final = 10  # tags that a book's page shows first


class BookRecord(RawRecord):
    """The record of a book: id, title, authors, year, tags, ..."""

    __slots__ = ()


class TagNames(NamedTuple):
    """The names of tags by id, and the ids of hidden tags."""

    names: dict[int, str]
    hidden: set[int]


class BookRow(NamedTuple):
    """A book's values as the database returns them: authors in their order, tags in no order."""

    id: int
    title: str
    sort_title: str
    original_title: str
    year: int | None
    language: str
    isbn: str
    pages: int | None
    cover: str
    design: str
    popularity: int
    rating: Any  # a number of a type that depends on the database, or None
    tags: list[str]
    top_tags: list[tuple[int, str]]  # minus the number of its readers, its name
    hidden_tags: list[str]
    authors: list[str]
    author_ids: list[int]


COLUMNS: Final = BookRow._fields[1 : BookRow._fields.index("tags")]  # of the book's own table, without the id


class _FoundBook(NamedTuple):
    """A book as the first statement returns it. columns: the values of ``COLUMNS``."""

    id: int
    columns: list[Any]
    tag_ids: list[int]
    counts: list[int]
    author_ids: list[int]


# The ids of tags and authors come as one list for each book, and two more statements read the names. A join in SQL
# costs three to four times as much for 330,294 pairs, and PostgreSQL would read all tags to name those of one book.
_BOOKS = f"SELECT b.id, b.{', b.'.join(COLUMNS)}, {{tags}}, {{authors}} FROM catalog_book b WHERE b.id"
_SELECT_BOOKS = {
    "sqlite": _BOOKS.format(
        tags="(SELECT json_array(json_group_array(l.tag_id), json_group_array(l.imported_count))"
        " FROM catalog_book_tags l WHERE l.book_id = b.id)",
        authors="(SELECT json_group_array(author_id) FROM"
        " (SELECT author_id FROM catalog_book_authors l WHERE l.book_id = b.id ORDER BY l.id))",
    ),
    "postgresql": _BOOKS.format(
        tags="(SELECT json_build_array(json_agg(l.tag_id), json_agg(l.imported_count))::text"
        " FROM catalog_book_tags l WHERE l.book_id = b.id)",
        authors="array_to_json(ARRAY("
        "SELECT l.author_id FROM catalog_book_authors l WHERE l.book_id = b.id ORDER BY l.id))::text",
    ),
}


def load_book_rows(ids: Sequence[int]) -> list[BookRow]:
    """Return the existing books among ``ids``, in no order. This takes four statements for any number of books."""
    connection = connections[database()]
    with connection.cursor() as cursor:
        rows = _select_rows(cursor, _SELECT_BOOKS[connection.vendor], ids)
        books = [_parse_book(row) for row in rows]
        votes = _count_votes(cursor, ids)
        tag_ids: set[int] = set()
        author_ids: set[int] = set()
        for book in books:
            tag_ids.update(book.tag_ids)
            author_ids.update(book.author_ids)
        tags = _read_tag_names(cursor, tag_ids)
        authors = dict(_select_rows(cursor, "SELECT id, name FROM catalog_author WHERE id", author_ids))
    return [_join_book(book, tags, votes.get(book.id, {}), authors) for book in books]


def load_tag_names(ids: Sequence[int]) -> TagNames:
    """Return the existing tags among ``ids``."""
    with connections[database()].cursor() as cursor:
        return _read_tag_names(cursor, ids)


def _read_tag_names(cursor: CursorWrapper, ids: Iterable[int]) -> TagNames:
    rows = _select_rows(cursor, "SELECT id, name, hidden FROM catalog_tag WHERE id", ids)
    return TagNames({pk: name for pk, name, _ in rows}, {pk for pk, _, hidden in rows if hidden})


def _parse_book(row: Sequence[Any]) -> _FoundBook:
    pk, *columns, tags, authors = row
    tag_ids, counts = orjson.loads(tags)
    # PostgreSQL has null, and not an empty list, for a book without tags.
    return _FoundBook(pk, columns, tag_ids or [], counts or [], orjson.loads(authors))


def _count_votes(cursor: CursorWrapper, books: Iterable[int]) -> dict[int, dict[int, int]]:
    """Return the number of votes for each tag of each of these books."""
    found: dict[int, dict[int, int]] = {}
    select = "SELECT book_id, tag_id, COUNT(*) FROM catalog_tagvote WHERE book_id"
    for book, tag, count in _select_rows(cursor, select, books, "GROUP BY book_id, tag_id"):
        found.setdefault(book, {})[tag] = count
    return found


def _join_book(book: _FoundBook, tags: TagNames, votes: Mapping[int, int], authors: Mapping[int, str]) -> BookRow:
    """Return a book with the names of its tags and authors.

    Tags and authors that were deleted between the statements are left out.
    """
    names, hidden, shown = [], [], []
    for pk, count in zip(book.tag_ids, book.counts, strict=True):
        name = tags.names.get(pk)
        if name is None:
            continue
        names.append(name)
        if pk in tags.hidden:
            hidden.append(name)
        else:
            # Minus the count, so that one ascending sort puts the most frequent first and equal ones in the order of
            # names.
            shown.append((-count - votes.get(pk, 0), name))
    shown.sort()
    author_ids = [pk for pk in book.author_ids if pk in authors]
    author_names = [authors[pk] for pk in author_ids]
    names_of_links = (names, shown[:MAX_TOP_TAGS], hidden, author_names, author_ids)
    return BookRow._make((book.id, *book.columns, *names_of_links))


def _select_rows(cursor: CursorWrapper, select: str, ids: Iterable[int], end: str = "") -> list[Any]:
    """Return the rows of a statement that ends with the column to compare with ``ids``."""
    condition, values = arrays.match_any(ids)
    cursor.execute(f"{select} {condition} {end}", values)
    return list(cursor.fetchall())


def build_record(row: BookRow) -> Record:
    """Return the record of a book.

    tags: sorted by code point. rating, year, pages: None if unknown. author_ids: in the order of ``authors``.
    series: as the title names them. isbn: thirteen digits, "" without a correct one. top_tags: the most
    frequent tags, most frequent first. hidden_tags: tags that ``top_tags`` and pages leave out. cover: the name of the
    uploaded picture, or "". design: of the drawn cover.
    """
    return {
        "id": row.id,
        "title": row.title,
        "sort_title": row.sort_title,
        "original_title": row.original_title,
        "authors": row.authors,
        "author_ids": row.author_ids,
        "series": [{"name": one.name, "number": one.number} for one in parse_series(row.title)],
        "year": row.year,
        "language": row.language,
        "isbn": find_isbn(row.isbn),
        "pages": row.pages,
        "cover": row.cover,
        "design": row.design,
        "popularity": row.popularity,
        "rating": None if row.rating is None else float(row.rating),
        "tags": sorted(row.tags),
        "top_tags": [{"name": name, "count": -less} for less, name in row.top_tags],
        "hidden_tags": sorted(row.hidden_tags),
    }


def load_book_records(ids: Sequence[int]) -> list[Record]:
    """Return the records of the existing books among ``ids``, in that order."""
    found = {row.id: build_record(row) for row in load_book_rows(ids)}
    return [found[pk] for pk in ids if pk in found]
