"""Render a page for the cache, as a visitor without a session sees it.

The page is rendered for a synthetic request without cookies, remote address or headers, except those that are part of
the cache key. It is refused if it depends on more than this and the reads of ``mirror``.
"""

import re
from collections.abc import Callable
from io import BytesIO
from typing import Any, Final

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import _does_token_match  # type: ignore[attr-defined]
from django.utils.cache import patch_vary_headers

from common import clock
from common.public_pages import measure_life
from common.web import appearance
from mirror.read import PastReads
from mirror.redis import Recording, record
from shop.pagecache.requests import PageRequest
from shop.pagecache.stored_page import StoredPage

# The environment of the synthetic request: the address of the site.
KEPT_ENVIRON = (
    "SCRIPT_NAME", "PATH_INFO", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL", "wsgi.url_scheme", "HTTP_HOST",
    "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT",
)  # fmt: skip
# Headers that are not copied from the response: they belong to the visitor or to the served page.
DROPPED_HEADERS = ("Content-Length", "Cache-Control", "Vary", "Set-Cookie")
STORED_TYPES: Final = ("text/html", "application/atom+xml")
CSRF_TOKEN_PATTERN: Final = re.compile(r"(?<![A-Za-z0-9])([A-Za-z0-9]{64})(?![A-Za-z0-9])")
GetResponse = Callable[[HttpRequest], HttpResponse]


class PageRefused(Exception):
    """The page must not be stored."""


def make_anonymous_request(asked: PageRequest) -> WSGIRequest:
    """Return the synthetic request of a visitor without a session for the same page."""
    given: dict[str, Any] = asked.http.META
    environ = {name: given[name] for name in KEPT_ENVIRON if name in given} | {
        "REQUEST_METHOD": "GET",
        "QUERY_STRING": asked.query,
        "HTTP_ACCEPT": "text/html",
        "HTTP_ACCEPT_LANGUAGE": asked.language,
        # This rendering is not a view.
        "HTTP_SEC_PURPOSE": "prefetch",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": BytesIO(),
    }
    # As a server passes them: Django decodes these two, and reads them as Latin-1.
    for name in ("SCRIPT_NAME", "PATH_INFO"):
        environ[name] = environ.get(name, "").encode(errors="surrogateescape").decode("latin-1")
    if asked.theme:
        environ["HTTP_COOKIE"] = f"{appearance.THEME_COOKIE}={asked.theme}"
    return WSGIRequest(environ)


def render_page(asked: PageRequest, get_response: GetResponse) -> StoredPage:
    """Render the page for a visitor without a session. Raises PageRefused."""
    http = make_anonymous_request(asked)
    # Before the rendering, so that the page is never taken for newer than what it shows.
    made = clock.now().timestamp()
    with record() as seen, measure_life() as life:
        response = get_response(http)
    reason = find_refusal_reason(http, response)
    if reason:
        raise PageRefused(reason)
    # Later requests send these reads again, to see whether the page is current. Other reads cannot be checked so.
    reads = PastReads.of(seen)
    if reads is None:
        raise PageRefused(_describe_other_sources(seen))
    # The served page varies by cookie, because a visitor with a session gets another one.
    patch_vary_headers(response, ["Cookie"])
    headers = {name: value for name, value in response.items() if name not in DROPPED_HEADERS}
    headers["Vary"] = response["Vary"]
    # Set if the page has forms. Each visitor gets a token of their own between the pieces.
    secret = http.META.get("CSRF_COOKIE", "")
    text = response.content.decode(response.charset)
    pieces = [piece.encode() for piece in split_at_tokens(text, secret)]
    return StoredPage(pieces, bool(secret), headers, reads, life.seconds, made)


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


def find_refusal_reason(http: HttpRequest, response: HttpResponse) -> str | None:
    """Return the reason why this response must not be stored, or None."""
    session: Any = getattr(http, "session", None)
    varies = {name.strip().lower() for name in response.get("Vary", "").split(",")}
    # The token varies by cookie, and has a place of its own in a stored page.
    varies_by = {"*"} if http.META.get("CSRF_COOKIE") else {"cookie", "*"}
    control = {word.strip().lower().partition("=")[0] for word in response.get("Cache-Control", "").split(",")}
    reasons = {
        "it streams": response.streaming,
        "its status is not 200": response.status_code != 200,
        "it is no page or feed": response.get("Content-Type", "").partition(";")[0] not in STORED_TYPES,
        "it is encoded": response.has_header("Content-Encoding"),
        "it sets a cookie": not set(response.cookies) <= {settings.CSRF_COOKIE_NAME},
        "it looked at the session": session is not None and (session.accessed or session.modified),
        "it varies by cookie": bool(varies_by & varies),
        "it says itself that it is not to be kept": bool({"private", "no-store", "no-cache", "max-age"} & control),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _describe_other_sources(seen: Recording) -> str:
    return "it asked SQL" if len(seen.sql) > seen.checks else "it asked Redis for more than a reads can ask again"
