"""Undo of the removal of a book from a list, and of the deletion of a list, by signed snapshots."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from django.db import IntegrityError, transaction

from accounts.models import User
from catalog.lists.models import MAX_BOOKS, MAX_LISTS, ListedBook, ReadingList
from catalog.lists.services import TooMany, lock_list
from catalog.models import Book
from catalog.shelves.services import limit_privacy
from catalog.shelves.snapshots import NotUndoable, read_snapshot, sign_snapshot
from catalog.signals import list_returns
from common.database import repeat_after_conflict

KIND: Final = "list"  # of snapshots
LIST_FIELDS: Final = ("name", "description", "privacy", "order", "created_at")
BOOK_FIELDS: Final = ("id", "book_id", "position", "added_on")


class Snapshot(NamedTuple):
    """Books that were removed from a list. fields: of the list, if it was deleted with them, or None.

    columns: a sequence for each of BOOK_FIELDS, because columns compress well.
    """

    list_id: int
    fields: dict[str, Any] | None
    columns: list[list[Any]]


def snapshot_book(user_id: int, list_id: int, book_id: int) -> str:
    """Return the signed place of a book on a reader's list, or "" if it is not there. One statement."""
    rows = ListedBook.objects.filter(reading_list__user_id=user_id, reading_list_id=list_id, book_id=book_id)
    return _sign(user_id, Snapshot(list_id, None, _read_columns(rows)))


def snapshot_list(user_id: int, list_id: int) -> str:
    """Return a signed copy of a reader's list with its books, or "" if there is no such list. Two statements."""
    fields = ReadingList.objects.filter(user_id=user_id, pk=list_id).values(*LIST_FIELDS).first()
    if fields is None:
        return ""
    return _sign(user_id, Snapshot(list_id, fields, _read_columns(ListedBook.objects.filter(reading_list_id=list_id))))


@repeat_after_conflict
def restore_snapshot(user_id: int, list_id: int, signed: str) -> None:
    """Restore the books of a snapshot, and the list if it was deleted. A second time changes nothing.

    Books that were deleted meanwhile are left out. Raises NotUndoable, ListNotFound and TooMany.
    """
    taken = Snapshot(*read_snapshot(KIND, user_id, signed))
    if taken.list_id != list_id:
        raise NotUndoable
    try:
        with transaction.atomic():
            if taken.fields is not None:
                _restore_list(user_id, list_id, taken.fields)
            lock_list(user_id, list_id)
            _restore_books(list_id, taken.columns)
    # A book was deleted between the two statements.
    except IntegrityError as error:
        raise NotUndoable from error


def _sign(user_id: int, taken: Snapshot) -> str:
    return sign_snapshot(KIND, user_id, list(taken)) if taken.columns or taken.fields else ""


def _read_columns(rows: Any) -> list[list[Any]]:
    found = rows.order_by("pk").values_list(*BOOK_FIELDS)
    return [list(column) for column in zip(*found, strict=True)]


def _restore_list(user_id: int, list_id: int, fields: dict[str, Any]) -> None:
    # The lock keeps two requests from restoring the last allowed list both, as for a new one.
    User.objects.select_for_update(no_key=True).get(pk=user_id)
    own = ReadingList.objects.filter(user_id=user_id)
    if own.filter(pk=list_id).exists():
        return
    if own.count() >= MAX_LISTS:
        raise TooMany(MAX_LISTS)
    list_returns.send(restore_snapshot, list_id=list_id)
    # The account may have become private meanwhile.
    shown = {**fields, "privacy": limit_privacy(user_id, fields["privacy"])}
    # With its former id, which no other list has got since, so that its address leads to it again.
    ReadingList.objects.create(pk=list_id, user_id=user_id, **shown)
    # Saving sets the present time.
    ReadingList.objects.filter(pk=list_id).update(created_at=fields["created_at"])


def _restore_books(list_id: int, columns: Sequence[Sequence[Any]]) -> None:
    listed = set(ListedBook.objects.filter(reading_list_id=list_id).values_list("book_id", flat=True))
    # With their former ids, the order of which is that in which the books were added.
    rows = {
        book: ListedBook(pk, list_id, book, position, day) for pk, book, position, day in zip(*columns, strict=True)
    }
    missing = Book.objects.filter(pk__in=rows.keys() - listed).values_list("pk", flat=True)
    restored = [rows[book] for book in missing]
    if len(listed) + len(restored) > MAX_BOOKS:
        raise TooMany(MAX_BOOKS)
    ListedBook.objects.bulk_create(restored, batch_size=500)
