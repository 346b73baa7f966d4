"""The middleware of the page cache, which answers before sessions and users are loaded."""

import zlib
from collections.abc import Callable, Mapping
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.middleware.csrf import CsrfViewMiddleware, get_token
from prometheus_client import Counter

from accounts.sessions import SessionStore
from common.middleware import name_view
from mirror.middleware import COOKIE as BEHIND
from mirror.read import NOTHING, Prefetched, fetch, known
from mirror.redis import RedisPipeline
from shop.book_views import counting_ahead, popularity, visits
from shop.pagecache import readers, rendering, store
from shop.pagecache.requests import PageRequest, parse_page_request
from shop.pagecache.stored_page import StoredPage

LOOKUPS: Final = Counter("diptych_page_cache_lookups", "Pages that were looked up in the page cache.")
MISSES: Final = Counter("diptych_page_cache_misses", "Pages that were not there, and were rendered.")
CACHE_CONTROL: Final = "private, no-cache"  # a page has the visitor's token, and changes at any moment
RECHECK_SECONDS: Final = 0.5  # for which a page is served that Redis has called current
PREVIOUS_SECONDS: Final = 1.0  # the same while a process renders it again
REFUSED_SECONDS: Final = 1.0  # how long a page that must not be stored is not tried again


class PageCache:
    """The middleware. It comes before all middleware that depends on the visitor, such as sessions and
    read-your-writes, and after middleware that sets the same headers on all pages.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        asked = parse_page_request(request)
        if asked is None:
            return self.get_response(request)
        name_view(request, asked.target.view)
        if asked.is_personal:
            return _set_cache_control(self.get_response(request))
        visit = _Visit(asked, self.get_response)
        page = visit.find_page()
        if page is None:
            return _set_cache_control(visit.let_view_answer())
        return visit.serve_page(page)


class ReadAhead:
    """The middleware that reads the session of a visitor and what the page is likely to read in one round trip.

    It comes after the page cache, and before the middleware that loads sessions.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        reader = readers.get_reader(request) if request.method == "GET" and not request.COOKIES.get(BEHIND) else None
        if reader is None:
            return self.get_response(request)
        book_id = _find_book(request)
        is_counted = False

        def beside(pipe: RedisPipeline) -> None:
            nonlocal is_counted
            if book_id is not None:
                is_counted = counting_ahead.queue_view(pipe, request, book_id, reader.digest, reader.user)

        page = readers.name_page(request)
        plan = readers.get_planned_reads(page, reader)
        # Without a plan nothing is asked, because an error page needs no session, but the reads are recorded.
        ahead = Prefetched([], []) if plan is None else fetch(reader.reads, plan, beside)
        if ahead is None:
            return self.get_response(request)
        with known(ahead):
            response = _call_view(request, book_id, self.get_response, is_counted=is_counted)
        # Others may not have loaded the session.
        if response.status_code == 200:
            readers.remember_visit(page, reader, request, ahead.asked if ahead.missed else None)
        return response


def _find_book(request: HttpRequest) -> int | None:
    """Return the id of the book whose page is asked for, or None."""
    asked = parse_page_request(request)
    return asked.target.book_id if asked else None


class _Visit:
    """A request of a visitor without a session."""

    def __init__(self, asked: PageRequest, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.asked = asked
        self.digest = asked.digest
        self._get_response = get_response
        self._is_counted = False

    def find_page(self) -> StoredPage | None:
        """Return the page, or None if the view must answer."""
        LOOKUPS.inc()
        copy = store.get_copy(self.digest)
        page = copy.page if copy else None
        if copy is not None and page is None and copy.age < REFUSED_SECONDS:
            return None
        is_checked = copy is not None and page is not None and (copy.age < RECHECK_SECONDS or page.is_constant)
        book_id = self.asked.target.book_id
        if page is None and book_id is None:
            return store.find_or_render(self.digest, None, self._is_current, self._render)
        if page is not None and is_checked and page.is_fresh and book_id is None:
            return page
        # Only the most viewed books have stored pages, which bounds the cache. The view is counted in the same round
        # trip if the book was there before.
        add = self._queue_rank if page is None else self._queue_rank_and_count
        ahead = fetch(NOTHING if page is None or is_checked else page.reads.asked, (), add)
        if ahead is None:
            self._is_counted = False
        if ahead is None or (book_id is not None and not popularity.is_popular(ahead.beside[0])):
            return None
        if page is None:
            return store.find_or_render(self.digest, None, self._is_current, self._render)
        is_current = is_checked or page.reads.is_answered_by(ahead.needed)
        if is_current and page.is_fresh:
            return page if is_checked else store.keep_copy(self.digest, page)
        may_stay = (is_current or (copy is not None and copy.age < PREVIOUS_SECONDS)) and not page.is_expired
        return store.find_or_render(self.digest, page if may_stay else None, self._is_current, self._render)

    def _queue_rank(self, pipe: RedisPipeline) -> None:
        book_id = self.asked.target.book_id
        if book_id is not None:
            popularity.queue_rank(pipe, book_id)

    def _queue_rank_and_count(self, pipe: RedisPipeline) -> None:
        self._queue_rank(pipe)
        book_id = self.asked.target.book_id
        if book_id is not None:
            self._is_counted = counting_ahead.queue_view(pipe, self.asked.http, book_id)

    def _is_current(self, page: StoredPage) -> bool:
        ahead = fetch(page.reads.asked)
        return ahead is not None and page.reads.is_answered_by(ahead.needed)

    def _render(self) -> StoredPage:
        MISSES.inc()
        return rendering.render_page(self.asked, self._get_response)

    def let_view_answer(self) -> HttpResponse:
        """Return the response of the view."""
        book_id = self.asked.target.book_id
        return _call_view(self.asked.http, book_id, self._get_response, is_counted=self._is_counted)

    def serve_page(self, page: StoredPage) -> HttpResponse:
        """Return the page for this visitor."""
        http = self.asked.http
        # An empty session, which is not saved.
        http.session = SessionStore()
        if self.asked.target.book_id is not None and not self._is_counted:
            visits.record_view(http, self.asked.target.book_id)
        tag = f'W/"{page.tag}{_mark_token(http) if page.has_token else ""}"'
        headers = {**page.headers, "Cache-Control": CACHE_CONTROL, "ETag": tag}
        if http.META.get("HTTP_IF_NONE_MATCH") == tag:
            return HttpResponseNotModified(headers=headers)
        if not page.has_token:
            return _make_response(page.pieces[0], headers)
        csrf = CsrfViewMiddleware(self._get_response)
        csrf.process_request(http)
        response = _make_response(get_token(http).encode().join(page.pieces), headers)
        # Sets the cookie of the token.
        csrf.process_response(http, response)
        return response


def _call_view(
    request: HttpRequest,
    book_id: int | None,
    get_response: Callable[[HttpRequest], HttpResponse],
    *,
    is_counted: bool,
) -> HttpResponse:
    """Return the response of the view, which does not count a view that the round trip of the page has counted."""
    if is_counted:
        visits.mark_counted(request)
    response = get_response(request)
    if is_counted and response.status_code == 404 and book_id is not None:
        popularity.forget_book(book_id)
    return response


def _mark_token(http: HttpRequest) -> str:
    """Return a mark of the visitor's token, because the forms of a page belong to it."""
    return f"-{zlib.crc32(http.COOKIES.get(settings.CSRF_COOKIE_NAME, '').encode()):x}"


def _make_response(content: bytes, headers: Mapping[str, str]) -> HttpResponse:
    response = HttpResponse(content, headers=headers)
    response["Content-Length"] = str(len(content))
    return response


def _set_cache_control(response: HttpResponse) -> HttpResponse:
    response.headers.setdefault("Cache-Control", CACHE_CONTROL)
    return response
