"""Undo of a change of an entry: a signed snapshot of the entry before it, with its readings and progress."""

from datetime import date
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson
from django.db import transaction

from catalog.shelves.models import EarlierReading, ReadingProgress, ShelfEntry
from catalog.shelves.services import change_entry, delete_readings, lock_entry, remove_from_shelf
from catalog.shelves.snapshots import NotUndoable, read_snapshot, sign_snapshot
from catalog.signals import book_rated
from common.database import repeat_after_conflict

KIND: Final = "entry"  # of snapshots
ENTRY_FIELDS: Final = ("shelf", "stars", "shelved_on", "started_on", "finished_on", "finished_precision", "pages")
READING_FIELDS: Final = ("id", "started_on", "finished_on", "finished_precision", "is_finished")
PROGRESS_FIELDS: Final = ("id", "reading_id", "noted_on", "page", "percent", "note")

Rows = list[dict[str, Any]]


class Snapshot(NamedTuple):
    """An entry and its rows. entry: None if the book was on no shelf."""

    book: int
    entry: dict[str, Any] | None
    readings: Rows
    progress: Rows

    @property
    def digest(self) -> str:
        """The same text for equal snapshots, also if they were signed and read."""
        return sha256(orjson.dumps(list(self))).hexdigest()


def take_snapshot(user_id: int, book_id: int) -> Snapshot:
    """Return the state of a book on a reader's shelves, in three statements."""
    owner = {"user_id": user_id, "book_id": book_id}
    return Snapshot(
        book_id,
        ShelfEntry.objects.filter(**owner).values(*ENTRY_FIELDS).first(),
        list(EarlierReading.objects.filter(**owner).order_by("pk").values(*READING_FIELDS)),
        list(ReadingProgress.objects.filter(**owner).order_by("pk").values(*PROGRESS_FIELDS)),
    )


def sign_undo(user_id: int, before: Snapshot) -> str:
    """Return the state before a change that was just made, signed, in three statements.

    It can be restored as long as nothing else is changed.
    """
    return sign_snapshot(KIND, user_id, [list(before), take_snapshot(user_id, before.book).digest])


@repeat_after_conflict
def restore_snapshot(user_id: int, book_id: int, signed: str, today: date) -> None:
    """Restore the entry, the readings and the progress of a snapshot. A second time changes nothing.

    Raises NotUndoable, also after later changes, which would be lost; and BookNotFound if the book was deleted.
    """
    content, digest = read_snapshot(KIND, user_id, signed)
    taken = Snapshot(*content)
    if taken.book != book_id:
        raise NotUndoable
    if taken.entry is None:
        with transaction.atomic():
            lock_entry(user_id, book_id)
            if _is_undoable(user_id, taken, digest):
                remove_from_shelf(user_id, book_id)
        return
    former_fields = taken.entry

    def put_back(entry: ShelfEntry) -> None:
        if not _is_undoable(user_id, taken, digest):
            return
        is_rating_changed = entry.stars != former_fields["stars"]
        delete_readings(user_id, book_id)
        # With their former ids, by which the progress refers to them. No other row has got these since.
        for fields in taken.readings:
            EarlierReading.objects.create(user_id=user_id, book_id=book_id, **fields)
        for fields in taken.progress:
            ReadingProgress.objects.create(user_id=user_id, book_id=book_id, **fields)
        for name, value in former_fields.items():
            setattr(entry, name, value)
        entry.save()
        if is_rating_changed:
            book_rated.send(restore_snapshot, user_id=user_id, book_id=book_id, stars=entry.stars)

    change_entry(user_id, book_id, today, put_back)


def _is_undoable(user_id: int, taken: Snapshot, digest: str) -> bool:
    """Return whether the state is the one after the change; False if it is already undone. Raises NotUndoable."""
    found = take_snapshot(user_id, taken.book).digest
    if found not in (digest, taken.digest):
        raise NotUndoable
    return found == digest
