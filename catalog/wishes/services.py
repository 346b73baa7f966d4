"""Changes of wishes."""

from django.db.models import QuerySet

from catalog.wishes.models import BookWish, State


def ask_for_book(user_id: int, title: str, note: str = "") -> bool:
    """Record that a reader asks for a book. Return whether the wish is new; a second click, or
    another case, makes no second wish."""
    # By the constraint, and not by a look-up, so that two requests at once make one row.
    before = BookWish.objects.filter(user_id=user_id, title__iexact=title).exists()
    BookWish.objects.bulk_create([BookWish(user_id=user_id, title=title, note=note)], ignore_conflicts=True)
    return not before


def decide(wishes: QuerySet[BookWish], state: State) -> int:
    """Set the state of wishes. Return their number."""
    return wishes.update(state=state)
