"""Reads of wishes: a reader's own ones, and figures for staff."""

from typing import Final

from catalog.wishes.models import BookWish, State
from mirror.admin import count_rows

MAX_SHOWN: Final = 50  # wishes of a reader on the page


def find_own_wishes(user_id: int) -> list[BookWish]:
    """Return a reader's newest wishes, newest first. 1 query."""
    return list(BookWish.objects.filter(user=user_id).order_by("-pk")[:MAX_SHOWN])


def count_open_wishes() -> int:
    """Return the number of wishes that wait for a decision."""
    return count_rows(BookWish.objects.filter(state=State.OPEN))
