"""The middleware of the page cache, which answers before sessions and users are loaded."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from prometheus_client import Counter

from common.middleware import name_view
from mirror.read import fetch, known
from mirror.redis import RedisPipeline
from shop.book_views import popularity
from shop.pagecache import fragment_cache, rendering, sessions, store
from shop.pagecache.requests import PageRequest, Visit, parse_page_request
from shop.pagecache.serving import CACHE_CONTROL, PageServer
from shop.pagecache.stored_page import StoredPage

LOOKUPS: Final = Counter("diptych_page_cache_lookups", "Pages that were looked up in the page cache.")
MISSES: Final = Counter("diptych_page_cache_misses", "Pages that were not there, and were rendered.")


class PageCache:
    """The middleware. It comes before all middleware that depends on the visitor, such as sessions and
    read-your-writes, and after middleware that sets the same headers on all pages.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.filler = PageServer()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        asked = parse_page_request(request)
        if asked is None:
            return self.get_response(request)
        name_view(request, asked.target.page.view)
        visit = _read_visit(asked)
        if visit is None:
            return _set_cache_control(self.get_response(request))
        with known(visit.replies):
            return self._serve_cached_page(visit) or _set_cache_control(self.get_response(request))

    def _serve_cached_page(self, visit: Visit) -> HttpResponse | None:
        """Return the page with its fragments, or None if the view must answer."""
        made_of = visit.replies.needed.replies[: visit.request.target.size]
        beside = visit.replies.beside
        if None in made_of:
            # The page does not exist, so its view must answer, and a view that was counted ahead is taken back.
            fragment_cache.forget_page(visit.request.http.path)
            if visit.is_told and visit.request.target.member is not None:
                popularity.forget_book(visit.request.target.member)
            return None
        # Only the most viewed pages are cached, which bounds the cache.
        if beside and not popularity.is_popular(beside[0]):
            return None
        digest = visit.request.digest(made_of)

        def render() -> StoredPage:
            MISSES.inc()
            return rendering.render_page(visit.request, visit.replies.fork(), self.get_response)

        LOOKUPS.inc()
        shell = store.get_page(digest, render)
        if shell is None:
            return None
        response = self.filler.serve_page(visit, digest, shell)
        if visit.session:
            asked = visit.replies.asked if visit.replies.missed else None
            sessions.remember_session(visit.request.http.path, visit.session, visit.request.http, asked)
        return response


def _read_visit(asked: PageRequest) -> Visit | None:
    """Read everything from Redis in one round trip. Return None if SQL must answer."""
    http, target, told = asked.http, asked.target, False
    plan, coming = fragment_cache.get_planned_reads(http.path), sessions.get_visitor_session(http)
    is_known = coming.is_known if coming else "person" not in asked.visitor_words

    def beside(pipe: RedisPipeline) -> None:
        nonlocal told
        if target.member is not None:
            popularity.queue_rank(pipe, target.member)
        # Count the view in this round trip if the page was served recently and the user is known.
        if plan is not None and is_known:
            told = target.queue_report(pipe, http, coming and coming.digest, coming and coming.user)

    own = [coming.reads, *sessions.get_planned_reads(http.path, coming)] if coming else []
    found = fetch(target.reads, [*(plan or ()), *own], beside)
    if found is None:
        return None
    # Without the replies of the visitor, so that the fragments that follow from these facts may be shared.
    facts = [reading and reading.replies for reading in found.readings[: 1 + len(plan or ())]]
    return Visit(asked, found, facts, told, coming)


def _set_cache_control(response: HttpResponse) -> HttpResponse:
    response.headers.setdefault("Cache-Control", CACHE_CONTROL)
    return response
