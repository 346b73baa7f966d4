"""Count a view in a pipeline that is sent anyway, before the page is served."""

from typing import Any

from django.http import HttpRequest

from shop.viewing import popularity
from shop.viewing.visits import counts, stand_in


def add(pipe: Any, request: HttpRequest, book_id: int, digest: str | None = None, user_id: int | None = None) -> bool:
    """Queue the commands that count a view, as ``visits.record`` does. Return whether the request counts as a view.

    digest: of the visitor's session, with its user; None without a session. If Redis does not know the script, the
    pipeline fails with NoScriptError, and ``record`` counts the view later.
    """
    if not counts(request):
        return False
    popularity.add_saw(pipe, digest or stand_in(request), book_id, user_id)
    if digest:
        popularity.remember(pipe, digest, book_id)
    return True
