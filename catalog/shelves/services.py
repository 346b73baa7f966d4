"""Changes of readers' shelves. Each may be repeated without further effect."""

from collections.abc import Callable
from datetime import date

from django.db import IntegrityError, transaction

from accounts.models import User
from catalog.shelves.models import PRIVACY_FIELDS, Privacy, ReadingGoal, Shelf, ShelfEntry, ShelfSettings
from catalog.signals import book_rated
from common.database import repeat_after_conflict

EntryChange = Callable[[ShelfEntry], None]  # changes an entry, which may be new, and saves it


class BookNotFound(Exception):
    """The book does not exist."""


def put_on_shelf(user_id: int, book_id: int, shelf: Shelf, today: date) -> None:
    """Put a book on a shelf, or move it there.

    A finished book that is put on "reading" begins anew today. A book that moves to "read" is finished today, but one
    that was on no shelf may have been read years ago and gets no date. Raises BookNotFound.
    """

    def move(entry: ShelfEntry) -> None:
        was_on_shelf = entry.pk is not None
        if shelf == Shelf.READING:
            if entry.finished_on is not None:
                entry.started_on, entry.finished_on = today, None
            entry.started_on = entry.started_on or today
        elif shelf == Shelf.READ and was_on_shelf and entry.shelf != Shelf.READ:
            # A book may start after today: the reader may be in a time zone in which tomorrow has begun.
            finished_on = max(today, entry.started_on or today)
            entry.finished_on = entry.finished_on or finished_on
        entry.shelf = shelf
        entry.save()

    _change_entry(user_id, book_id, today, move)


def rate_book(user_id: int, book_id: int, stars: int | None, today: date) -> None:
    """Rate a book in halves of a star, or take the rating back (None). A book that is on no shelf is put on "read",
    without a date.

    Raises BookNotFound.
    """

    def set_stars(entry: ShelfEntry) -> None:
        is_changed = entry.stars != stars
        entry.stars = stars
        entry.save()
        if is_changed:
            book_rated.send(rate_book, user_id=user_id, book_id=book_id, stars=stars)

    _change_entry(user_id, book_id, today, set_stars)


@repeat_after_conflict
def set_reading_dates(user_id: int, book_id: int, started_on: date | None, finished_on: date | None) -> bool:
    """Set the dates when a reader started and finished a book. Return False if it is on no shelf."""
    rows = ShelfEntry.objects.filter(user_id=user_id, book_id=book_id)
    with transaction.atomic():
        entry = rows.select_for_update().first()
        if entry is not None:
            entry.started_on, entry.finished_on = started_on, finished_on
            entry.save(update_fields=["started_on", "finished_on"])
    return entry is not None


@repeat_after_conflict
def remove_from_shelf(user_id: int, book_id: int) -> bool:
    """Remove a book and its rating. Return False if it is on no shelf."""
    with transaction.atomic():
        is_removed = bool(ShelfEntry.objects.filter(user_id=user_id, book_id=book_id).delete()[0])
        if is_removed:
            book_rated.send(remove_from_shelf, user_id=user_id, book_id=book_id, stars=None)
    return is_removed


@repeat_after_conflict
def set_privacy(user_id: int, shelf: Shelf, privacy: Privacy) -> None:
    """Set the privacy of a shelf, as far as the account allows it (``limit_privacy``)."""
    chosen = {PRIVACY_FIELDS[shelf]: limit_privacy(user_id, privacy)}
    ShelfSettings.objects.update_or_create(user_id=user_id, defaults=chosen)


def limit_privacy(user_id: int, privacy: str) -> str:
    """Return a privacy level for a shelf or list of this user: a private account shows nothing to everyone. 1 query."""
    is_private = privacy == Privacy.PUBLIC and User.objects.filter(pk=user_id, is_private=True).exists()
    return Privacy.FOLLOWERS if is_private else privacy


def limit_to_followers(user_id: int) -> None:
    """Show the shelves that everyone sees to followers only, in the present transaction."""
    settings, _ = ShelfSettings.objects.get_or_create(user_id=user_id)
    for field in PRIVACY_FIELDS.values():
        if getattr(settings, field) == Privacy.PUBLIC:
            setattr(settings, field, Privacy.FOLLOWERS)
    settings.save(update_fields=list(PRIVACY_FIELDS.values()))


@repeat_after_conflict
def set_goal(user_id: int, year: int, books: int | None) -> None:
    """Set the goal of a year, or remove it (None)."""
    with transaction.atomic():
        # Goals belong to the settings, whose mirror has both in one record.
        reader, _ = ShelfSettings.objects.get_or_create(user_id=user_id)
        if books is None:
            ReadingGoal.objects.filter(reader=reader, year=year).delete()
        else:
            ReadingGoal.objects.update_or_create(reader=reader, year=year, defaults={"books": books})


@repeat_after_conflict
def _change_entry(user_id: int, book_id: int, today: date, change: EntryChange) -> None:
    """Change an entry under its lock, or create it."""
    rows = ShelfEntry.objects.filter(user_id=user_id, book_id=book_id)
    try:
        with transaction.atomic():
            entry = rows.select_for_update().first()
            # No lock holds the place of a missing row, so a concurrent request may create it as well.
            if entry is None:
                entry = ShelfEntry(user_id=user_id, book_id=book_id, shelf=Shelf.READ, shelved_on=today)
            change(entry)
    except IntegrityError as error:
        # Either the book was deleted, or a concurrent request created the entry, which is changed now.
        with transaction.atomic():
            entry = rows.select_for_update().first()
            if entry is None:
                raise BookNotFound from error
            change(entry)
