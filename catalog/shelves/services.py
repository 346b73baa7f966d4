"""Changes of readers' shelves. Each may be repeated without further effect."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from catalog.shelves.models import (
    ENDED_SHELVES,
    PRIVACY_FIELDS,
    EarlierReading,
    Precision,
    Privacy,
    ReadingGoal,
    ReadingProgress,
    Shelf,
    ShelfEntry,
    ShelfSettings,
)
from catalog.signals import book_rated
from common.database import repeat_after_conflict
from common.refusals import Refused

GivenDates = Mapping[str, date | str | None]  # fields of ReadingDates; the missing ones stay as they are
EntryChange = Callable[[ShelfEntry], None]  # changes an entry, which may be new, and saves it


class BookNotFound(Exception):
    """The book does not exist."""


class DatesOutOfOrder(Refused):
    """A reading would end before its start."""

    message = _("The finish date cannot be before the start date.")


class ReadingDates(NamedTuple):
    """When a reading started and ended. Ends of a year without a day have the last day of the year."""

    started_on: date | None = None
    finished_on: date | None = None
    finished_precision: str = Precision.DAY

    @classmethod
    def of_year(cls, year: int, started_on: date | None = None) -> "ReadingDates":
        """Return the dates of a reading of which only the year is known."""
        return cls(started_on, date(year, 12, 31), Precision.YEAR)

    def change(self, given: GivenDates) -> "ReadingDates":
        """Return the dates with the given ones in their places. Raises DatesOutOfOrder."""
        fields: dict[str, Any] = dict(given)
        changed = self._replace(**fields)
        if changed.started_on and changed.finished_on and changed.finished_on < changed.started_on:
            raise DatesOutOfOrder
        return changed


def put_on_shelf(user_id: int, book_id: int, shelf: Shelf, today: date) -> None:
    """Put a book on a shelf, or move it there.

    A reading that has ended becomes an earlier one if the book is to be read again. A book that moves to "read" or
    "did not finish" ends today, but one that was on no shelf may have been read years ago and gets no date. Raises
    BookNotFound.
    """

    def move(entry: ShelfEntry) -> None:
        was_on_shelf = entry.pk is not None
        has_ended = was_on_shelf and entry.shelf in ENDED_SHELVES
        if has_ended and shelf not in ENDED_SHELVES:
            _end_reading(entry, today)
        if shelf == Shelf.READING:
            entry.started_on = entry.started_on or today
        elif shelf in ENDED_SHELVES and was_on_shelf and not has_ended:
            # A book may start after today: the reader may be in a time zone in which tomorrow has begun.
            finished_on = max(today, entry.started_on or today)
            entry.finished_on = entry.finished_on or finished_on
        entry.shelf = shelf
        entry.save()

    change_entry(user_id, book_id, today, move)


def _end_reading(entry: ShelfEntry, today: date) -> None:
    """Make the reading of an entry that leaves "read" or "did not finish" an earlier one, with its progress."""
    if entry.finished_on is not None:
        # The last day of a year also stands for a reading of which only the year is known.
        is_mistake = entry.finished_on == today and entry.finished_precision == Precision.DAY
    else:
        is_mistake = entry.shelved_on == today and entry.stars is None
    # Readers move a book on the same day if they chose a wrong shelf, and then the reading goes on.
    if not is_mistake:
        # ``create`` and not one statement for both, because the progress needs the id.
        earlier = EarlierReading.objects.create(
            user_id=entry.user_id,
            book_id=entry.book_id,
            started_on=entry.started_on,
            finished_on=entry.finished_on,
            finished_precision=entry.finished_precision,
            is_finished=entry.shelf == Shelf.READ,
        )
        # An update sends no signal, but that of the saved entry drains the same key.
        present = ReadingProgress.objects.filter(user_id=entry.user_id, book_id=entry.book_id, reading=None)
        present.update(reading=earlier)
        entry.started_on = None
    entry.finished_on, entry.finished_precision = None, Precision.DAY


def rate_book(user_id: int, book_id: int, stars: int | None, today: date) -> None:
    """Rate a book in halves of a star, or take the rating back (None). A book that is rated and on no shelf is put on
    "read", without a date.

    Raises BookNotFound.
    """

    def set_stars(entry: ShelfEntry) -> None:
        if entry._state.adding and stars is None:
            return
        is_changed = entry.stars != stars
        entry.stars = stars
        entry.save()
        if is_changed:
            book_rated.send(rate_book, user_id=user_id, book_id=book_id, stars=stars)

    change_entry(user_id, book_id, today, set_stars)


@repeat_after_conflict
def set_reading_dates(user_id: int, book_id: int, given: GivenDates) -> bool:
    """Set dates of the present or latest reading. Return False if the book is on no shelf. Raises DatesOutOfOrder."""
    with transaction.atomic():
        entry = lock_entry(user_id, book_id)
        if entry is not None:
            change_dates(entry, given)
            entry.save(update_fields=list(ReadingDates._fields))
    return entry is not None


def change_dates(reading: ShelfEntry | EarlierReading, given: GivenDates) -> None:
    """Change dates of a reading, which the caller has locked and saves. Raises DatesOutOfOrder."""
    # Under the lock, because the order also depends on the dates that stay.
    present = ReadingDates(reading.started_on, reading.finished_on, reading.finished_precision)
    reading.started_on, reading.finished_on, reading.finished_precision = present.change(given)


@repeat_after_conflict
def remove_from_shelf(user_id: int, book_id: int) -> bool:
    """Remove a book with its rating, readings and progress. Return False if it is on no shelf."""
    with transaction.atomic():
        entry = lock_entry(user_id, book_id)
        if entry is not None:
            delete_readings(user_id, book_id)
            entry.delete()
            book_rated.send(remove_from_shelf, user_id=user_id, book_id=book_id, stars=None)
    return entry is not None


def delete_readings(user_id: int, book_id: int) -> None:
    """Delete the earlier readings and all progress of a book in the present transaction."""
    # Before the readings, to which some of it refers.
    ReadingProgress.objects.filter(user_id=user_id, book_id=book_id).delete()
    EarlierReading.objects.filter(user_id=user_id, book_id=book_id).delete()


@repeat_after_conflict
def set_privacy(user_id: int, shelf: Shelf, privacy: Privacy) -> None:
    """Set the privacy of a shelf, as far as the account allows it (``limit_privacy``)."""
    with transaction.atomic():
        chosen = {PRIVACY_FIELDS[shelf]: limit_privacy(user_id, privacy)}
        ShelfSettings.objects.update_or_create(user_id=user_id, defaults=chosen)


def limit_privacy(user_id: int, privacy: str) -> str:
    """Return a privacy level for a shelf or list of this user: a private account shows nothing to everyone. 1 query.

    In the present transaction, which keeps the account from becoming private until the level is saved.
    """
    if privacy != Privacy.PUBLIC:
        return privacy
    accounts = User.objects.select_for_update(no_key=True).filter(pk=user_id)
    return Privacy.FOLLOWERS if True in accounts.values_list("is_private", flat=True) else privacy


def limit_to_followers(user_id: int) -> None:
    """Show the shelves that everyone sees to followers only, in the present transaction."""
    # The lock keeps a level that the reader chooses at the same time.
    settings, _is_new = ShelfSettings.objects.select_for_update().get_or_create(user_id=user_id)
    for field in PRIVACY_FIELDS.values():
        if getattr(settings, field) == Privacy.PUBLIC:
            setattr(settings, field, Privacy.FOLLOWERS)
    settings.save(update_fields=list(PRIVACY_FIELDS.values()))


@repeat_after_conflict
def set_goal(user_id: int, year: int, books: int | None) -> None:
    """Set the goal of a year, or remove it (None)."""
    with transaction.atomic():
        # Goals belong to the settings, whose mirror has both in one record.
        reader, _is_new = ShelfSettings.objects.get_or_create(user_id=user_id)
        if books is None:
            ReadingGoal.objects.filter(reader=reader, year=year).delete()
        else:
            ReadingGoal.objects.update_or_create(reader=reader, year=year, defaults={"books": books})


def lock_entry(user_id: int, book_id: int) -> ShelfEntry | None:
    """Return a book on a reader's shelf, locked until the end of the transaction, or None."""
    return ShelfEntry.objects.filter(user_id=user_id, book_id=book_id).select_for_update().first()


@repeat_after_conflict
def change_entry(user_id: int, book_id: int, today: date, change: EntryChange) -> None:
    """Change an entry under its lock, or create it. Raises BookNotFound."""
    try:
        with transaction.atomic():
            entry = lock_entry(user_id, book_id)
            # No lock holds the place of a missing row, so a concurrent request may create it as well.
            if entry is None:
                entry = ShelfEntry(user_id=user_id, book_id=book_id, shelf=Shelf.READ, shelved_on=today)
            change(entry)
    except IntegrityError as error:
        # Either the book was deleted, or a concurrent request created the entry, which is changed now.
        with transaction.atomic():
            entry = lock_entry(user_id, book_id)
            if entry is None:
                raise BookNotFound from error
            change(entry)
