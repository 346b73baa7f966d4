"""Changes of the earlier readings of a book, and of the progress in the present one."""

from datetime import date
from typing import Any, Final, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from catalog.models import Book
from catalog.shelves.models import EarlierReading, Precision, ReadingProgress, Shelf, ShelfEntry
from catalog.shelves.services import GivenDates, ReadingDates, change_dates, lock_entry
from common.database import repeat_after_conflict
from common.refusals import Refused

MAX_READINGS: Final = 100  # of a book by a reader
MAX_NOTES: Final = 1000  # of progress in a book by a reader


class NotPossible(Exception):
    """The book is not on the shelf that the change needs, or it has too many readings or notes."""


class PageBeyondEnd(Refused):
    """The page is none of the book, which has ``pages`` pages."""

    def __init__(self, pages: int) -> None:
        super().__init__(pages)
        self.pages = pages

    def __str__(self) -> str:
        text = _("This book has %(pages)s pages. If your edition has more, change “Pages of your edition” first.")
        return text % {"pages": self.pages}


class Position(NamedTuple):
    """How far a reader has come: a page, or percents if there is no page."""

    page: int | None = None
    percent: int | None = None


@repeat_after_conflict
def add_reading(user_id: int, book_id: int, dates: ReadingDates, *, is_finished: bool = True) -> EarlierReading:
    """Add an earlier reading of a book on one of the reader's shelves, or return an equal one. Raises NotPossible.

    A book does not end twice on one day: the form was sent twice. Readings without this day may be equal.
    """
    with transaction.atomic():
        # The lock keeps the entry, without which nobody would see the reading.
        if lock_entry(user_id, book_id) is None:
            raise NotPossible
        rows = EarlierReading.objects.filter(user_id=user_id, book_id=book_id)
        fields: dict[str, Any] = {"is_finished": is_finished, **dates._asdict()}
        if dates.finished_on and dates.finished_precision == Precision.DAY and (same := rows.filter(**fields).first()):
            return same
        if rows.count() >= MAX_READINGS:
            raise NotPossible
        return EarlierReading.objects.create(user_id=user_id, book_id=book_id, **fields)


@repeat_after_conflict
def change_reading(user_id: int, reading_id: int, given: GivenDates, *, is_finished: bool) -> bool:
    """Change an earlier reading. Return False if the reader has none with this id. Raises DatesOutOfOrder."""
    with transaction.atomic():
        reading = EarlierReading.objects.filter(user_id=user_id, pk=reading_id).select_for_update().first()
        if reading is not None:
            change_dates(reading, given)
            reading.is_finished = is_finished
            reading.save()
    return reading is not None


def delete_reading(user_id: int, reading_id: int) -> bool:
    """Delete an earlier reading with its progress. Return False if the reader has none with this id."""
    return bool(EarlierReading.objects.filter(user_id=user_id, pk=reading_id).delete()[0])


@repeat_after_conflict
def note_progress(user_id: int, book_id: int, position: Position, note: str, today: date) -> ReadingProgress:
    """Note how far a reader has come in a book on the shelf "reading". Raises NotPossible and PageBeyondEnd.

    If the latest note is equal, the form was sent twice: return that note.
    """
    with transaction.atomic():
        # Under the lock of the entry, so that a move to another shelf does not leave the note behind.
        entry = lock_entry(user_id, book_id)
        if entry is None or entry.shelf != Shelf.READING:
            raise NotPossible
        _check_page(entry, position.page)
        rows = ReadingProgress.objects.filter(user_id=user_id, book_id=book_id)
        latest = rows.filter(reading=None).order_by("-pk").first()
        if latest and (latest.noted_on, latest.note, latest.page, latest.percent) == (today, note, *position):
            return latest
        if rows.count() >= MAX_NOTES:
            raise NotPossible
        return ReadingProgress.objects.create(
            user_id=user_id, book_id=book_id, noted_on=today, note=note, **position._asdict()
        )


def _check_page(entry: ShelfEntry, page: int | None) -> None:
    if page is None:
        return
    # A book without a known number of pages ends nowhere.
    pages = entry.pages or Book.objects.filter(pk=entry.book_id).values_list("pages", flat=True).first()
    if pages and page > pages:
        raise PageBeyondEnd(pages)


def delete_progress(user_id: int, progress_id: int) -> bool:
    """Delete a note of progress. Return False if the reader has none with this id."""
    return bool(ReadingProgress.objects.filter(user_id=user_id, pk=progress_id).delete()[0])


@repeat_after_conflict
def set_pages(user_id: int, book_id: int, pages: int | None) -> bool:
    """Set the number of pages of the reader's own edition. Return False if the book is on no shelf."""
    with transaction.atomic():
        entry: ShelfEntry | None = lock_entry(user_id, book_id)
        if entry is not None:
            entry.pages = pages
            entry.save(update_fields=["pages"])
    return entry is not None
