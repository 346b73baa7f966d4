"""Holes that depend on nothing but what they read, remembered for a moment.

A price, a stock, what readers say: it may change at any time, and is read for each page that is served. But while Redis
says the same as before, what was made of it is the same as well, for all who see it alike. It is made as nobody sees
it, and each visitor's own token (against forged requests) is put where nobody's was. Once a second it is made anew in
any case: what is on sale depends on the time.

What the holes asked is remembered too, and is asked ahead the next time.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import _does_token_match  # type: ignore[attr-defined]

from mirror.bounded import Bounded
from mirror.prefetch import Asked, known
from mirror.recorder import record
from shop.pagecache.asked import Visit
from shop.pagecache.render import nobodys

SECONDS: Final = 1.0
MANY: Final = 1024  # pages
TOKEN: Final = re.compile(r"(?<![A-Za-z0-9])([A-Za-z0-9]{64})(?![A-Za-z0-9])")

Parts = Mapping[int, Sequence[bytes]]  # by hole: the pieces around the token
AsNobody = Callable[[HttpRequest], tuple[Sequence[str], HttpResponse]]  # renders those holes, behind the middleware


class Moment(NamedTuple):
    """What was made of a page's holes. facts: of what. until: when it is made anew (monotonic seconds)."""

    facts: Sequence[Any]
    until: float
    parts: Parts


_moments: Final = Bounded[Moment](MANY)
_plans: Final = Bounded[tuple[Asked, ...]](MANY)


def plan(path: str) -> tuple[Asked, ...] | None:
    """What the holes of the page there are going to ask, as far as is known of the last time."""
    return _plans.get(path)


def gone(path: str) -> None:
    """There is no such page any more."""
    _plans.forget(path)


def forget() -> None:
    """Remember nothing (for tests)."""
    _moments.clear()
    _plans.clear()


def parts(visit: Visit, digest: str, holes: Sequence[int], as_nobody: AsNobody) -> Parts:
    """What is in these holes of the page ``digest``, in all of them or, if it cannot be told alike for everybody, in
    none. They are the same holes whenever it is that page.
    """
    if not holes:
        return {}
    asked, kept = visit.asked, _moments.get(digest)
    if kept and kept.facts == visit.facts and time.monotonic() < kept.until:
        return kept.parts
    http, own = nobodys(asked), visit.known.fork()
    with record() as seen, known(own):
        fills, response = as_nobody(http)
    _plans.put(asked.http.path, _guesses(own.asked, asked.target.asked))
    if not _is_nobodys(http, response):
        return {}
    secret = http.META.get("CSRF_COOKIE", "")
    made = {n: [piece.encode() for piece in split(fill, secret)] for n, fill in zip(holes, fills, strict=True)}
    if not own.missed and not seen.sql:
        _moments.put(digest, Moment(visit.facts, time.monotonic() + SECONDS, made))
    return made


def split(text: str, secret: str) -> list[str]:
    """The text without the tokens of this secret: the pieces around them. (The secret is new, and nobody knows it: what
    a reader wrote is no token of it.)
    """
    pieces, end = [], 0
    for found in TOKEN.finditer(text) if secret else ():
        if _does_token_match(found[1], secret):
            pieces.append(text[end : found.start()])
            end = found.end()
    return [*pieces, text[end:]]


def _guesses(asked: Iterable[Asked], needed: Asked) -> tuple[Asked, ...]:
    """Each once, in their order."""
    found = {one.key: one for one in asked if one.is_harmless()}
    found.pop(needed.key, None)
    return tuple(found.values())


def _is_nobodys(http: HttpRequest, response: HttpResponse) -> bool:
    """Whether what was rendered came to its end, had nothing to do with a session, and left nothing in a browser but
    the token.
    """
    session: Any = getattr(http, "session", None)
    is_free = session is None or not (session.accessed or session.modified)
    return response.status_code == 200 and is_free and set(response.cookies) <= {settings.CSRF_COOKIE_NAME}
