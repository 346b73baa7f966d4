"""Figures of wishes for staff."""

from catalog.wishes.models import BookWish, State
from mirror.admin import count_rows


def count_open_wishes() -> int:
    """Return the number of wishes that wait for a decision."""
    return count_rows(BookWish.objects.filter(state=State.OPEN))
