"""Make the changes of books that a spreadsheet asks for, all or none."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import IntegrityError, connection, transaction

from catalog.details.models import BookDetails
from catalog.importer.current import BOOK_FIELDS, DETAIL_FIELDS, load_values
from catalog.importer.duplicates import find_duplicates
from catalog.importer.table import BookEdit
from catalog.models import Author, Book, Tag
from catalog.tags.bulk import add_taggings, get_or_create_ids
from catalog.tags.services import remove_tag_from_books
from common.database import SLICE_SIZE, repeat_after_conflict
from common.refusals import Refused
from mirror.relay import hint

Changes = dict[int, dict[str, tuple[Any, Any]]]  # the old and new values of books, by id and column


class BooksChanged(Refused):
    """Books have other values than those that staff saw, so nothing was changed."""


@repeat_after_conflict
def apply_book_edits(edits: Sequence[BookEdit]) -> list[Book]:
    """Make all changes or none, and return the new books. Raises BooksChanged."""
    try:
        with transaction.atomic():
            return _apply(edits)
    except IntegrityError as error:  # an author or a tag of the same name was added, or one was deleted, meanwhile
        raise BooksChanged from error


def _apply(edits: Sequence[BookEdit]) -> list[Book]:
    changes: Changes = {edit.row.pk: dict(edit.changes) for edit in edits if not edit.is_new}
    _lock(changes)
    present = load_values(changes)
    for pk, pairs in changes.items():
        if pk not in present or any(present[pk][column] != old for column, (old, _new) in pairs.items()):
            raise BooksChanged
    new = [dict(edit.changes) for edit in edits if edit.is_new]
    if find_duplicates([{column: value for column, (_old, value) in pairs.items()} for pairs in new]):
        raise BooksChanged
    _change_books(changes)
    books = _add_books(new)
    changes |= {book.pk: pairs for book, pairs in zip(books, new, strict=True)}
    _change_details(changes)
    _change_authors(changes)
    _change_tags(changes)
    for name in ("book", "book_details"):
        hint(name, "", map(str, changes))
    return books


def _lock(books: Iterable[int]) -> None:
    """Lock books, and other files with new books, until the end of the transaction.

    Two of them could otherwise add the same book. On SQLite every transaction is exclusive.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('catalog.importer.edits'))")
    rows = Book.objects.select_for_update(no_key=True).filter(pk__in=list(books)).order_by("pk")
    list(rows.values_list("pk"))


def _change_books(changes: Changes) -> None:
    books = Book.objects.in_bulk(list(changes))
    changed: set[str] = set()
    for pk, book in books.items():
        changed |= _set_fields(book, changes[pk], BOOK_FIELDS)
    if changed:
        Book.objects.bulk_update(books.values(), sorted(changed), batch_size=SLICE_SIZE)


def _add_books(new: Sequence[dict[str, tuple[Any, Any]]]) -> list[Book]:
    books = [Book() for _pairs in new]
    for book, pairs in zip(books, new, strict=True):
        _set_fields(book, pairs, BOOK_FIELDS)
    return list(Book.objects.bulk_create(books))


def _change_details(changes: Changes) -> None:
    ids = [pk for pk, pairs in changes.items() if not pairs.keys().isdisjoint(DETAIL_FIELDS)]
    present = BookDetails.objects.select_for_update().in_bulk(ids)
    missing = {pk: BookDetails(book_id=pk) for pk in ids if pk not in present}
    for pk, details in (present | missing).items():
        _set_fields(details, changes[pk], DETAIL_FIELDS)
    BookDetails.objects.bulk_update(present.values(), DETAIL_FIELDS, batch_size=SLICE_SIZE)
    BookDetails.objects.bulk_create(missing.values())


def _change_authors(changes: Changes) -> None:
    wanted = {pk: pairs["authors"][1] for pk, pairs in changes.items() if "authors" in pairs}
    ids, _added = get_or_create_ids(Author, sorted({name for names in wanted.values() for name in names}))
    links: Any = Book.authors.through
    # The order of the links is the order of the authors.
    links._base_manager.filter(book_id__in=wanted)._raw_delete(links._base_manager.db)
    rows = (links(book_id=pk, author_id=ids[name]) for pk, names in wanted.items() for name in names)
    links._base_manager.bulk_create(rows, batch_size=SLICE_SIZE)


def _change_tags(changes: Changes) -> None:
    added: list[tuple[int, str]] = []
    removed: dict[str, list[int]] = {}
    for pk, pairs in changes.items():
        old, new = map(set, pairs.get("tags", ((), ())))
        added += [(pk, name) for name in new - old]
        for name in old - new:
            removed.setdefault(name, []).append(pk)
    ids, _added = get_or_create_ids(Tag, sorted({name for _pk, name in added}))
    if added:
        add_taggings((pk, ids[name]) for pk, name in added)
    for tag in Tag.objects.filter(name__in=removed):
        remove_tag_from_books(Book.objects.filter(pk__in=removed[tag.name]), tag)


def _set_fields(row: Any, pairs: dict[str, tuple[Any, Any]], fields: Sequence[str]) -> set[str]:
    """Set the new values of these fields, and return their names."""
    changed = {field for field in fields if field in pairs}
    for field in changed:
        setattr(row, field, pairs[field][1])
    return changed
