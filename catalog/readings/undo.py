"""Undo of a change of an entry: a signed snapshot of the entry before it, with its readings and progress.

The page keeps the snapshot, so that the site stores nothing that a reader has removed.
"""

from datetime import date
from typing import Any, Final, NamedTuple

import orjson
from django.core import signing

from catalog.shelves.models import EarlierReading, ReadingProgress, ShelfEntry
from catalog.shelves.services import change_entry, delete_readings, remove_from_shelf
from catalog.signals import book_rated

SALT: Final = "catalog.readings.undo"
MAX_AGE_SECONDS: Final = 3600
ENTRY_FIELDS: Final = ("shelf", "stars", "shelved_on", "started_on", "finished_on", "finished_precision", "pages")
READING_FIELDS: Final = ("id", "started_on", "finished_on", "finished_precision", "is_finished")
PROGRESS_FIELDS: Final = ("id", "reading_id", "noted_on", "page", "percent", "note")

Rows = list[dict[str, Any]]


class NotUndoable(Exception):
    """The snapshot is too old, or none of this reader and book."""


class Snapshot(NamedTuple):
    """An entry and its rows. entry: None if the book was on no shelf."""

    user: int
    book: int
    entry: dict[str, Any] | None
    readings: Rows
    progress: Rows


class _DateSerializer:
    """JSON with dates as texts, which models accept."""

    def dumps(self, value: Any) -> bytes:
        return orjson.dumps(value)

    def loads(self, data: bytes) -> Any:
        return orjson.loads(data)


def take_snapshot(user_id: int, book_id: int) -> str:
    """Return the signed state of a book on a reader's shelves, in three statements."""
    owner = {"user_id": user_id, "book_id": book_id}
    taken = Snapshot(
        user_id,
        book_id,
        ShelfEntry.objects.filter(**owner).values(*ENTRY_FIELDS).first(),
        list(EarlierReading.objects.filter(**owner).order_by("pk").values(*READING_FIELDS)),
        list(ReadingProgress.objects.filter(**owner).order_by("pk").values(*PROGRESS_FIELDS)),
    )
    return signing.dumps(list(taken), salt=SALT, serializer=_DateSerializer, compress=True)


def restore_snapshot(user_id: int, book_id: int, signed: str, today: date) -> None:
    """Restore the entry, the readings and the progress of a snapshot. A second time changes nothing.

    Raises NotUndoable, and BookNotFound if the book was deleted.
    """
    try:
        found = signing.loads(signed, salt=SALT, serializer=_DateSerializer, max_age=MAX_AGE_SECONDS)
    except signing.BadSignature as error:
        raise NotUndoable from error
    taken = Snapshot(*found)
    if (taken.user, taken.book) != (user_id, book_id):
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
