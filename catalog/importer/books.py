"""Import books and their authors."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.db import connection, transaction

from catalog.books.series import split_title
from catalog.importer import clean
from catalog.importer.details import GivenDetails, add_details, parse_details
from catalog.importer.files import DataProblems, Table, split_batches
from catalog.models import Author, AuthorAlias, Book
from catalog.shelves.models import MAX_PAGES
from common.database import Atomic
from mirror.utils import ProgressCallback

COLUMNS = (
    "book_id", "goodreads_book_id", "authors", "original_publication_year", "original_title", "title",
    "language_code", "isbn", "isbn13", "average_rating", "ratings_count",
)  # fmt: skip
OPTIONAL_COLUMNS = ("pages", "description", "publisher", "format", "translators", "illustrators")
BATCH_SIZE = 2000  # rows in a transaction
UNTITLED = "[untitled]"
MAX_TITLE_LENGTH = 500
MAX_AUTHOR_LENGTH = 300


@dataclass
class ImportReport:
    """The report of an import: numbers of rows read and added, and the problems in the data."""

    read: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)
    dirt: DataProblems = field(default_factory=DataProblems)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A usable row: the primary key that the file names, if any, the book, its authors, and its details."""

    wanted: int | None
    book: Book
    authors: list[str]
    details: GivenDetails


def import_books(
    table: Table,
    limit: int | None,
    tally: ImportReport,
    progress: ProgressCallback,
    atomic: Atomic = transaction.atomic,
) -> None:
    """Add the missing books among the first ``limit`` usable ones, with their authors.

    A book's primary key is the file's ``book_id``, if that is free. Books without a free key are added last, with keys
    that the database chooses, because a free key could belong to a later row.
    """
    crowded = 0
    for batch in split_batches(islice(_read_candidates(table, tally.dirt), limit), BATCH_SIZE):
        with atomic():
            crowded += _add_books(batch, tally, own_keys=True)
        tally.read["books"] += len(batch)
        progress("books", len(batch))
    # A second pass over the file, because the books that were left out need not fit into memory.
    if crowded:
        for batch in split_batches(islice(_read_candidates(table, DataProblems()), limit), BATCH_SIZE):
            with atomic():
                _add_books(batch, tally, own_keys=False)


def find_imported_ids(table: Table, limit: int | None) -> dict[int, int]:
    """Return the primary keys of the existing books among the first ``limit`` usable ones, by ``book_id``.

    Other files refer to books by this ``book_id``. If the file lists an id twice, the first row counts.
    """
    found: dict[int, int] = {}
    for batch in split_batches(islice(_read_candidates(table, DataProblems()), limit), BATCH_SIZE):
        known = find_ids_by_goodreads_id(candidate.book.goodreads_id for candidate in batch)
        for candidate in batch:
            if candidate.wanted and candidate.book.goodreads_id in known:
                found.setdefault(candidate.wanted, known[candidate.book.goodreads_id])
    return found


def _read_candidates(table: Table, dirt: DataProblems) -> Iterator[Candidate]:
    seen: set[int] = set()
    for line, cells in table.rows(dirt):
        row = dict(zip(table.columns, cells, strict=True))
        wrong: list[str] = []
        candidate = _parse_candidate(row, wrong)
        if candidate is None:
            wrong = ["books without a usable goodreads_book_id"]
        elif candidate.book.goodreads_id in seen:
            candidate, wrong = None, ["books listed twice"]
        for kind in wrong:
            dirt.note(kind, table.name, line)
        if candidate is not None:
            seen.add(candidate.book.goodreads_id or 0)
            yield candidate


def _parse_candidate(row: dict[str, str], wrong: list[str]) -> Candidate | None:
    """Return the row as a book, and add its problems to ``wrong``. None: the row does not identify a book."""

    def usable(name: str, value: Any, kind: str) -> Any:
        if value is None and row[name]:
            wrong.append(kind)
        return value

    goodreads_id = clean.parse_number(row["goodreads_book_id"])
    if not goodreads_id:
        return None
    wanted = clean.parse_number(row["book_id"], most=2**31 - 1) or None
    if wanted is None:
        wrong.append("unusable book_id")
    if not row["original_publication_year"]:
        wrong.append("no year")
    year = clean.parse_year(row["original_publication_year"])
    popularity = clean.parse_number(row["ratings_count"], most=2**53)
    isbn = _parse_isbn(row["isbn"], row["isbn13"], wrong)
    title = _parse_title(row, wrong)
    language = clean.parse_language(row["language_code"])
    book = Book(
        goodreads_id=goodreads_id,
        title=title,
        original_title=_parse_original_title(row["original_title"], title),
        year=usable("original_publication_year", year, "unusable year"),
        language=usable("language_code", language, "unusable language") or "",
        isbn=isbn,
        pages=clean.parse_number(row.get("pages", ""), most=MAX_PAGES) or None,
        popularity=usable("ratings_count", popularity, "unusable count") or 0,
        rating=usable("average_rating", clean.parse_rating(row["average_rating"]), "unusable rating"),
    )
    return Candidate(wanted, book, _parse_authors(row["authors"], wrong), parse_details(row))


def _parse_isbn(ten: str, thirteen: str, wrong: list[str]) -> str:
    isbn = clean.pick_isbn(ten, thirteen)
    if isbn is None and (ten or thirteen):
        wrong.append("unusable ISBN")
    elif "e+" in thirteen.lower():
        wrong.append("ISBN-13 with lost digits")
    return isbn or ""


def _parse_title(row: dict[str, str], wrong: list[str]) -> str:
    title = row["title"] or row["original_title"]
    if not row["title"]:
        wrong.append("no title: original title taken" if title else "no title at all")
    if len(title) > MAX_TITLE_LENGTH:
        wrong.append("title cut")
    return clean.shorten(title, MAX_TITLE_LENGTH) or UNTITLED


def _parse_original_title(original: str, title: str) -> str:
    """Return the original title, or "" if it is the title (which may also name the series)."""
    original = clean.shorten(original, MAX_TITLE_LENGTH)
    return "" if original in (title, split_title(title)[0]) else original


def _parse_authors(text: str, wrong: list[str]) -> list[str]:
    authors = clean.split_authors(text, MAX_AUTHOR_LENGTH)
    if not authors:
        wrong.append("no author")
    if any(len(" ".join(name.split())) > MAX_AUTHOR_LENGTH for name in text.split(",")):
        wrong.append("author's name cut")
    return authors


def _add_books(batch: Sequence[Candidate], tally: ImportReport, *, own_keys: bool) -> int:
    """Add the new books and their authors. Return the number of new books left out because their keys are taken."""
    known = find_ids_by_goodreads_id(candidate.book.goodreads_id for candidate in batch)
    new = [candidate for candidate in batch if candidate.book.goodreads_id not in known]
    chosen = _assign_wanted_ids(new) if own_keys else new
    Book.objects.bulk_create([candidate.book for candidate in chosen])
    # Before the database chooses keys of its own, which would collide with those of the file.
    if own_keys and chosen:
        _advance_sequence()
    ids = _add_authors(chosen, tally)
    add_details([(candidate.book.pk, candidate.details) for candidate in chosen], ids)
    tally.added["books"] += len(chosen)
    return len(new) - len(chosen)


def _assign_wanted_ids(new: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates with a free wanted key, and set this key on their books."""
    chosen = []
    wanted = [candidate.wanted for candidate in new if candidate.wanted]
    taken = set(Book.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    for candidate in new:
        if candidate.wanted and candidate.wanted not in taken:
            taken.add(candidate.wanted)
            candidate.book.pk = candidate.wanted
            chosen.append(candidate)
    return chosen


def _advance_sequence() -> None:
    """Move PostgreSQL's sequence above the explicit keys, which it does not take into account."""
    if connection.vendor != "postgresql":
        return
    table = Book._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT setval(s.name, GREATEST(nextval(s.name), (SELECT MAX(id) FROM {table})))"
            " FROM (SELECT pg_get_serial_sequence(%s, 'id') AS name) s",
            [table],
        )


def _add_authors(chosen: Sequence[Candidate], tally: ImportReport) -> dict[str, int]:
    """Add the authors, translators and illustrators of books. Return their primary keys by name."""
    every_name: list[str] = []
    for candidate in chosen:
        every_name += candidate.authors
        every_name += candidate.details.contributors
    names = list(dict.fromkeys(every_name))
    ids: dict[str, int] = {}
    for some in split_batches(names, 1000):
        known = dict(AuthorAlias.objects.filter(name__in=some).values_list("name", "author"))
        known |= dict(Author.objects.filter(name__in=some).values_list("name", "pk"))
        new = Author.objects.bulk_create([Author(name=name) for name in some if name not in known])
        ids.update(known)
        # Names are unique, so an author of several books in this batch is added once.
        ids.update({author.name: author.pk for author in new})
        tally.added["authors"] += len(new)
    links = Book.authors.through
    rows: list[Any] = []
    for candidate in chosen:
        # Two names may be those of one author.
        authors = dict.fromkeys(ids[name] for name in candidate.authors)
        rows += [links(book_id=candidate.book.pk, author_id=author) for author in authors]
    links._base_manager.bulk_create(rows)
    return ids


def find_ids_by_goodreads_id(numbers: Iterable[int | None]) -> dict[int | None, int]:
    """Return the primary keys of the existing books, by goodreads number."""
    return dict(Book.objects.filter(goodreads_id__in=list(numbers)).values_list("goodreads_id", "pk"))
