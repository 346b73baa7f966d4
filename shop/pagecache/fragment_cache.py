"""Cache fragments that depend on Redis alone, kept for a moment.

Prices, stock and posts may change at any time, so each request reads them. While Redis gives the same replies, the
rendered fragments are the same for everyone, too. They are rendered for an anonymous visitor, and each visitor's own
CSRF token replaces the anonymous one. They are rendered again after a second in any case, because sales depend on the
time.

The reads of the fragments are remembered, too, so that the next request can make them ahead.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import _does_token_match  # type: ignore[attr-defined]

from mirror.read import Asked, known, select_guesses
from mirror.redis import record
from mirror.utils import Bounded
from shop.pagecache.rendering import make_anonymous_request
from shop.pagecache.requests import Visit

FRAGMENT_SECONDS: Final = 1.0
MAX_PAGES: Final = 1024  # pages per process
CSRF_TOKEN_PATTERN: Final = re.compile(r"(?<![A-Za-z0-9])([A-Za-z0-9]{64})(?![A-Za-z0-9])")

FragmentParts = Mapping[int, Sequence[bytes]]  # by number of the fragment: the pieces around the token
RenderAnonymously = Callable[
    [HttpRequest], tuple[Sequence[str], HttpResponse]
]  # renders those fragments inside the middleware


class RenderedFragments(NamedTuple):
    """Rendered fragments of a page. facts: the replies that they depend on. expires_at: when to render them again
    (monotonic seconds).
    """

    facts: Sequence[Any]
    expires_at: float
    parts: FragmentParts


_rendered: Final = Bounded[str, RenderedFragments](MAX_PAGES)
_plans: Final = Bounded[str, tuple[Asked, ...]](MAX_PAGES)


def get_planned_reads(path: str) -> tuple[Asked, ...] | None:
    """Return the reads that the page's fragments made the last time, or None if they are unknown."""
    return _plans.get(path)


def forget_page(path: str) -> None:
    """Forget the reads of a page that does not exist any more."""
    _plans.forget(path)


def clear_caches() -> None:
    """Empty the caches. For tests."""
    _rendered.clear()
    _plans.clear()


def get_shared_fragments(
    visit: Visit, digest: str, placeholders: Sequence[int], as_nobody: RenderAnonymously
) -> FragmentParts:
    """Return these fragments of the page ``digest``: all of them, or none if they are not equal for everyone.

    ``placeholders`` must be the same in each call for one digest.
    """
    if not placeholders:
        return {}
    asked, kept = visit.request, _rendered.get(digest)
    if kept and kept.facts == visit.facts and time.monotonic() < kept.expires_at:
        return kept.parts
    http, own = make_anonymous_request(asked), visit.replies.fork()
    with record() as seen, known(own):
        fills, response = as_nobody(http)
    # Without the reads that the page itself makes, which every request sends anyway.
    needed = asked.target.reads.key
    _plans.put(asked.http.path, tuple(one for one in select_guesses(own.asked) if one.key != needed))
    if not _is_independent_of_visitor(http, response):
        return {}
    # The anonymous token is in these fragments, and must not reach a visitor: each gets one of their own in its place.
    secret = http.META.get("CSRF_COOKIE", "")
    made = {
        n: [piece.encode() for piece in split_at_tokens(fill, secret)]
        for n, fill in zip(placeholders, fills, strict=True)
    }
    # Fragments that needed more than the replies at hand may differ although these replies are equal.
    if not own.missed and not seen.sql:
        _rendered.put(digest, RenderedFragments(visit.facts, time.monotonic() + FRAGMENT_SECONDS, made))
    return made


def split_at_tokens(text: str, secret: str) -> list[str]:
    """Return the text around the tokens that match this secret.

    The secret is new and unknown to readers, so text of a reader cannot match it.
    """
    pieces, end = [], 0
    for found in CSRF_TOKEN_PATTERN.finditer(text) if secret else ():
        if _does_token_match(found[1], secret):
            pieces.append(text[end : found.start()])
            end = found.end()
    return [*pieces, text[end:]]


def _is_independent_of_visitor(http: HttpRequest, response: HttpResponse) -> bool:
    """Return whether the rendering succeeded, did not use the session and set no cookie except the CSRF token's."""
    session: Any = getattr(http, "session", None)
    is_free = session is None or not (session.accessed or session.modified)
    return response.status_code == 200 and is_free and set(response.cookies) <= {settings.CSRF_COOKIE_NAME}
