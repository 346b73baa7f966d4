"""Changes of readers' lists. Each may be repeated without further effect, and changes only the reader's own lists."""

from datetime import date
from typing import Final, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from catalog.lists.models import MAX_BOOKS, MAX_LISTS, ListedBook, Order, ReadingList
from catalog.models import Book
from catalog.shelves.models import Privacy
from catalog.shelves.services import BookNotFound, limit_privacy
from common.database import repeat_after_conflict
from common.refusals import Refused

GAP: Final = 1 << 16  # between the positions of neighbours


class ListNotFound(Exception):
    """The reader has no such list."""


class TooMany(Exception):
    """The reader has as many lists, or the list as many books, as allowed: ``limit``."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class NameInUse(Refused):
    """A list with this name exists, and its privacy is another one than asked for."""

    message = _("You already have a list with this name. Choose another name.")


class ListDraft(NamedTuple):
    """The fields of a list, cleaned by its form."""

    name: str
    description: str = ""
    privacy: str = Privacy.PUBLIC
    order: str = Order.HAND


@repeat_after_conflict
def create_list(user_id: int, draft: ListDraft) -> ReadingList:
    """Create a list. Return an existing one with the same name, so that a second click makes no second list.

    Raises NameInUse and TooMany.
    """
    with transaction.atomic():
        # The lock keeps two requests from creating the last allowed list both.
        User.objects.select_for_update(no_key=True).get(pk=user_id)
        own = ReadingList.objects.filter(user_id=user_id)
        found = own.filter(name=draft.name).first()
        # Otherwise the books of a private list would be on a public one.
        if found is not None and draft.privacy not in (Privacy.PUBLIC, found.privacy):
            raise NameInUse
        if found is None and own.count() >= MAX_LISTS:
            raise TooMany(MAX_LISTS)
        draft = draft._replace(privacy=limit_privacy(user_id, draft.privacy))
        return found or ReadingList.objects.create(user_id=user_id, **draft._asdict())


@repeat_after_conflict
def change_list(user_id: int, list_id: int, draft: ListDraft) -> None:
    """Change the fields of a list. Raises ListNotFound."""
    with transaction.atomic():
        # Before the list, as when the account becomes private.
        draft = draft._replace(privacy=limit_privacy(user_id, draft.privacy))
        found = lock_list(user_id, list_id)
        for field, value in draft._asdict().items():
            setattr(found, field, value)
        found.save(update_fields=list(draft._fields))


def limit_to_followers(user_id: int) -> None:
    """Show the lists that everyone sees to followers only, in the present transaction."""
    ReadingList.objects.filter(user_id=user_id, privacy=Privacy.PUBLIC).update(privacy=Privacy.FOLLOWERS)


@repeat_after_conflict
def delete_list(user_id: int, list_id: int) -> bool:
    """Delete a list. Return False if the reader has no such list."""
    with transaction.atomic():
        return bool(ReadingList.objects.filter(pk=list_id, user_id=user_id).delete()[0])


@repeat_after_conflict
def add_book(user_id: int, list_id: int, book_id: int, today: date) -> ListedBook:
    """Put a book at the end of a list. Raises ListNotFound, BookNotFound and TooMany."""
    try:
        with transaction.atomic():
            lock_list(user_id, list_id)
            rows = _select_books(list_id)
            found = rows.filter(book_id=book_id).first()
            if found is not None:
                return found
            if rows.count() >= MAX_BOOKS:
                raise TooMany(MAX_BOOKS)
            last = rows.aggregate(last=Max("position"))["last"] or 0
            return ListedBook.objects.create(
                reading_list_id=list_id, book_id=book_id, position=last + GAP, added_on=today
            )
    except IntegrityError as error:
        # The lock of the list excludes concurrent additions, so only the book can be missing.
        if Book.objects.filter(pk=book_id).exists():
            raise
        raise BookNotFound from error


@repeat_after_conflict
def remove_book(user_id: int, list_id: int, book_id: int) -> bool:
    """Take a book from a list. Return False if it was not on it. Raises ListNotFound."""
    with transaction.atomic():
        lock_list(user_id, list_id)
        return bool(_select_books(list_id).filter(book_id=book_id).delete()[0])


@repeat_after_conflict
def move_book(user_id: int, list_id: int, book_id: int, place: int) -> None:
    """Move a book to a place on its list, the first of which is 1; beyond the end, to the last one.

    Raises ListNotFound, and BookNotFound for a book that is not on the list.
    """
    with transaction.atomic():
        lock_list(user_id, list_id)
        moved = _select_books(list_id).filter(book_id=book_id).first()
        if moved is None:
            raise BookNotFound
        others = _select_books(list_id).exclude(pk=moved.pk).order_by("position", "pk")
        index = max(0, min(place - 1, others.count()))
        position = _find_free_position(others, index)
        if position is None:
            _spread_positions(others)
            position = _find_free_position(others, index)
        assert position is not None  # the gaps are wide now
        moved.position = position
        moved.save(update_fields=["position"])


def find_place(list_id: int, book_id: int) -> int | None:
    """Return the place of a book on a list, the first of which is 1, or None, from SQL."""
    found = _select_books(list_id).filter(book_id=book_id).first()
    return None if found is None else _select_books(list_id).filter(position__lte=found.position).count()


def lock_list(user_id: int, list_id: int) -> ReadingList:
    """Return a reader's list under its lock, which orders all changes of the list. Raises ListNotFound."""
    found = ReadingList.objects.select_for_update().filter(pk=list_id, user_id=user_id).first()
    if found is None:
        raise ListNotFound
    return found


def _select_books(list_id: int) -> QuerySet[ListedBook]:
    return ListedBook.objects.filter(reading_list_id=list_id)


def _find_free_position(others: QuerySet[ListedBook], index: int) -> int | None:
    """Return a position before the row with this index and after the one before it; None if there is no gap."""
    around = list(others.values_list("position", flat=True)[max(0, index - 1) : index + 1])
    # The only book of its list.
    if not around:
        return GAP
    if index == 0:
        return around[0] - GAP
    if len(around) == 1:
        return around[0] + GAP
    middle = (around[0] + around[1]) // 2
    return middle if middle > around[0] else None


def _spread_positions(rows: QuerySet[ListedBook]) -> None:
    """Give all rows new positions with wide gaps. After about 16 moves between the same two neighbours."""
    spread = list(rows)
    for number, row in enumerate(spread, start=1):
        row.position = number * GAP
    ListedBook.objects.bulk_update(spread, ["position"], batch_size=500)
