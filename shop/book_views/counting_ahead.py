"""Count a view in a pipeline that is sent anyway, before the page is served."""

from django.http import HttpRequest

from mirror.redis import RedisPipeline
from shop.book_views import popularity
from shop.book_views.visits import counts_as_view, make_visitor_id


def queue_view(
    pipe: RedisPipeline, request: HttpRequest, book_id: int, digest: str | None = None, user_id: int | None = None
) -> bool:
    """Queue the commands that count a view, as ``visits.record_view`` does. Return whether the request counts as one.

    digest: of the visitor's session, with its user; None without a session. If Redis does not know the script, the
    pipeline fails with NoScriptError, and ``record_view`` counts the view later.
    """
    if not counts_as_view(request):
        return False
    popularity.queue_count(pipe, digest or make_visitor_id(request), book_id, user_id)
    if digest:
        popularity.queue_last_viewed(pipe, digest, book_id)
    return True
