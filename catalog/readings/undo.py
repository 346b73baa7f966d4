"""Undo of a change of an entry: a signed snapshot of the entry before it, with its readings and progress."""

from datetime import date
from typing import Any, Final, NamedTuple

from catalog.shelves.models import EarlierReading, ReadingProgress, ShelfEntry
from catalog.shelves.services import change_entry, delete_readings, remove_from_shelf
from catalog.shelves.snapshots import NotUndoable, read_snapshot, sign_snapshot
from catalog.signals import book_rated

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


def take_snapshot(user_id: int, book_id: int) -> str:
    """Return the signed state of a book on a reader's shelves, in three statements."""
    owner = {"user_id": user_id, "book_id": book_id}
    taken = Snapshot(
        book_id,
        ShelfEntry.objects.filter(**owner).values(*ENTRY_FIELDS).first(),
        list(EarlierReading.objects.filter(**owner).order_by("pk").values(*READING_FIELDS)),
        list(ReadingProgress.objects.filter(**owner).order_by("pk").values(*PROGRESS_FIELDS)),
    )
    return sign_snapshot(KIND, user_id, list(taken))


def restore_snapshot(user_id: int, book_id: int, signed: str, today: date) -> None:
    """Restore the entry, the readings and the progress of a snapshot. A second time changes nothing.

    Raises NotUndoable, and BookNotFound if the book was deleted.
    """
    taken = Snapshot(*read_snapshot(KIND, user_id, signed))
    if taken.book != book_id:
        raise NotUndoable
    if taken.entry is None:
        remove_from_shelf(user_id, book_id)
        return
    former_fields = taken.entry

    def put_back(entry: ShelfEntry) -> None:
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
