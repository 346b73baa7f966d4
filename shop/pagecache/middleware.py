"""The page cache: answers before sessions and users are loaded."""

from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts import session_rows
from mirror.ahead import Ahead, Asked, fetch, known
from shop import popularity
from shop.pagecache import moments, store
from shop.pagecache.asked import Request, asked_for
from shop.pagecache.fill import CONTROL, Filler
from shop.pagecache.render import make

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
        needed, own = asked.target.asked()
        ahead = fetch(needed, _guesses(asked), lambda pipe: _gate(pipe, asked))
        if ahead is None:
            return _private(self.get_response(request))
        with known(ahead):
            return self._cached(asked, ahead, own) or _private(self.get_response(request))

    def _cached(self, asked: Request, ahead: Ahead, own: int) -> HttpResponse | None:
        """The page, with what this visitor sees in its holes; None: not from here. own: how many replies it is of."""
        facts = ahead.needed.replies[:own]
        if None in facts or (ahead.beside and not popularity.in_top(ahead.beside[0])):
            return None
        digest = asked.digest(facts)
        shell = store.page(digest, lambda: make(asked, ahead.fork(), self.get_response))
        return self.filler.serve(asked, digest, shell, ahead) if shell else None


def _gate(pipe: Any, asked: Request) -> None:
    member = asked.target.member
    if member is not None:
        popularity.ask_rank(pipe, member)


def _guesses(asked: Request) -> list[Asked]:
    """What is going to be read for this page, and for who asks."""
    guesses = list(moments.plan(asked.http.path) or ())
    token = asked.http.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    if len(token) == TOKEN_LENGTH:
        digest = session_rows.digest_of(token)
        guesses.append(Asked.of(["session"], lambda pipe: session_rows._ask(pipe, digest)))
    return guesses


def _private(response: HttpResponse) -> HttpResponse:
    response.headers.setdefault("Cache-Control", CONTROL)
    return response
