"""Reads of the readings of a book, from SQL: only their reader opens this page."""

from collections.abc import Sequence
from typing import NamedTuple

from catalog.shelves.forms import find_when
from catalog.shelves.models import EarlierReading, ReadingProgress, ShelfEntry
from mirror.conf import database


class ShownReading(NamedTuple):
    """An earlier reading as the form of its dates shows it. Dates are in ISO 8601."""

    id: int
    started_on: str | None
    finished_on: str | None
    when: str
    is_finished: bool


class BookReadings(NamedTuple):
    """A reader's entry, or None, the earlier readings, latest end first, and all progress, latest first."""

    entry: ShelfEntry | None
    earlier: list[ShownReading]
    progress: Sequence[ReadingProgress]


def find_readings(user_id: int, book_id: int) -> BookReadings:
    """Return a reader's readings of a book, in three statements."""
    owner = {"user_id": user_id, "book_id": book_id}
    entry = ShelfEntry.objects.using(database()).filter(**owner).first()
    rows = list(EarlierReading.objects.using(database()).filter(**owner).order_by("-pk"))
    # Unknown dates sort before all others.
    rows.sort(key=lambda row: row.finished_on.isoformat() if row.finished_on else "", reverse=True)
    # By id, because several notes may be of one day.
    progress = ReadingProgress.objects.using(database()).filter(**owner).order_by("-pk")
    return BookReadings(entry, [_show_reading(row) for row in rows], list(progress))


def _show_reading(row: EarlierReading) -> ShownReading:
    started_on = row.started_on.isoformat() if row.started_on else None
    finished_on = row.finished_on.isoformat() if row.finished_on else None
    when = find_when(finished_on, row.finished_precision)
    return ShownReading(row.pk, started_on, finished_on, when.value, row.is_finished)
