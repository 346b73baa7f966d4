"""The middleware of the page cache, which answers before sessions and users are loaded."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from mirror.prefetch import fetch, known
from shop.pagecache import moments, people, render, store
from shop.pagecache.asked import Request, Visit, asked_for
from shop.pagecache.fill import CONTROL, Filler
from shop.viewing import popularity


class PageCache:
    """The middleware. It comes before all middleware that depends on the visitor, such as sessions and
    read-your-writes, and after middleware that sets the same headers on all pages.
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
        """Return the page with its fragments, or None if the view must answer."""
        made_of = visit.known.needed.replies[: visit.asked.target.size]
        beside = visit.known.beside
        if None in made_of:
            moments.gone(visit.asked.http.path)
            if visit.is_told and visit.asked.target.member is not None:
                popularity.gone(visit.asked.target.member)
            return None
        if beside and not popularity.in_top(beside[0]):
            return None
        digest = visit.asked.digest(made_of)
        shell = store.page(digest, lambda: render.make(visit.asked, visit.known.fork(), self.get_response))
        if shell is None:
            return None
        response = self.filler.serve(visit, digest, shell)
        if visit.coming:
            asked = visit.known.asked if visit.known.missed else None
            people.came(visit.asked.http.path, visit.coming, visit.asked.http, asked)
        return response


def _visit(asked: Request) -> Visit | None:
    """Read everything from Redis in one round trip. Return None if SQL must answer."""
    http, target, told = asked.http, asked.target, False
    plan, coming = moments.plan(http.path), people.coming(http)
    is_known = coming.is_known if coming else "person" not in asked.who

    def beside(pipe: Any) -> None:
        nonlocal told
        if target.member is not None:
            popularity.ask_rank(pipe, target.member)
        # Count the view in this round trip if the page was served recently and the user is known.
        if plan is not None and is_known:
            told = target.tells(pipe, http, coming and coming.digest, coming and coming.user)

    own = [coming.asked, *people.guesses(http.path, coming)] if coming else []
    found = fetch(target.asked, [*(plan or ()), *own], beside)
    if found is None:
        return None
    facts = [said and said.replies for said in found.said[: 1 + len(plan or ())]]
    return Visit(asked, found, facts, told, coming)


def _private(response: HttpResponse) -> HttpResponse:
    response.headers.setdefault("Cache-Control", CONTROL)
    return response
