"""Counting a view in a pipeline that somebody else sends, on the way to the page."""

from typing import Any

from django.http import HttpRequest

from shop.viewing import popularity
from shop.viewing.visits import counts, stand_in


def add(pipe: Any, request: HttpRequest, book_id: int, digest: str | None = None, user_id: int | None = None) -> bool:
    """As ``visits.record``. digest: of the visitor's session, with its user; None: they have none. Returns whether it
    was added. Redis may not know the script yet: then the pipeline fails with NoScriptError, and ``record`` helps.
    """
    if not counts(request):
        return False
    popularity.add_saw(pipe, digest or stand_in(request), book_id, user_id)
    if digest:
        popularity.remember(pipe, digest, book_id)
    return True
