"""The page cache: answers before sessions and users are loaded."""

from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts import session_rows
from mirror.prefetch import Asked, fetch, known
from shop.pagecache import moments, render, store
from shop.pagecache.asked import Request, Visit, asked_for
from shop.pagecache.fill import CONTROL, Filler
from shop.viewing import popularity

TOKEN_LENGTH: Final = 32  # of a session


class PageCache:
    """The middleware. It goes before everything that knows of somebody (sessions, and what sees to own writes), and
    behind what sets headers for all pages alike.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.filler = Filler()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        asked = asked_for(request)
        if asked is None:
            return self.get_response(request)
        visit = _visit(asked)
        if visit is None:
            return _private(self.get_response(request))
        with known(visit.known):
            return self._cached(visit) or _private(self.get_response(request))

    def _cached(self, visit: Visit) -> HttpResponse | None:
        """The page, with what this visitor sees in its holes; None: not from here."""
        made_of = visit.known.needed.replies[: visit.asked.target.size]
        beside = visit.known.beside
        if None in made_of:
            moments.gone(visit.asked.http.path)
            return None
        if beside and not popularity.in_top(beside[0]):
            return None
        digest = visit.asked.digest(made_of)
        shell = store.page(digest, lambda: render.make(visit.asked, visit.known.fork(), self.get_response))
        return self.filler.serve(visit, digest, shell) if shell else None


def _visit(asked: Request) -> Visit | None:
    """All that Redis has to say, in one round trip; None: SQL has to answer."""
    target, told = asked.target, False
    plan = moments.plan(asked.http.path)
    # Who is on the way to a page that was served lately, and has no session, is counted on the way.
    is_stranger = plan is not None and "person" not in asked.who

    def beside(pipe: Any) -> None:
        nonlocal told
        if target.member is not None:
            popularity.ask_rank(pipe, target.member)
        told = is_stranger and target.tells(pipe, asked.http)

    found = fetch(target.asked, [*(plan or ()), *_session(asked.http)], beside)
    if found is None:
        return None
    facts = [said and said.replies for said in found.said[: 1 + len(plan or ())]]
    return Visit(asked, found, facts, told)


def _session(http: HttpRequest) -> list[Asked]:
    """What is going to be asked of the visitor's session, if there may be one."""
    token = http.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    if len(token) != TOKEN_LENGTH:
        return []
    return [Asked.of(["session"], lambda pipe: session_rows.ask(pipe, session_rows.digest_of(token)))]


def _private(response: HttpResponse) -> HttpResponse:
    response.headers.setdefault("Cache-Control", CONTROL)
    return response
