"""Changes of wishes."""

from django.db.models import QuerySet

from catalog.wishes.models import BookWish, State


def ask_for_book(user_id: int, title: str, note: str = "") -> bool:
    """Record that a reader asks for a book. Return whether this changes anything.

    A second click, or another case, makes no second wish. A wish that staff have decided is open again, and a new note
    replaces the former one.
    """
    same = BookWish.objects.filter(user_id=user_id, title__iexact=title)
    # By the constraint, and not by a look-up, so that two requests at once make one row.
    before = same.exists()
    BookWish.objects.bulk_create([BookWish(user_id=user_id, title=title, note=note)], ignore_conflicts=True)
    if not before:
        return True
    is_reopened = same.exclude(state=State.OPEN).update(state=State.OPEN)
    is_explained = bool(note) and same.exclude(note=note).update(note=note)
    return bool(is_reopened or is_explained)


def decide(wishes: QuerySet[BookWish], state: State) -> int:
    """Set the state of wishes. Return their number."""
    return wishes.update(state=state)
