"""Render a page for the cache, as an anonymous visitor sees it.

The page is rendered for a synthetic request without cookies, remote address or headers, except those that are part of
the cache key. It is refused if it depends on more than its declaration states.
"""

from collections.abc import Callable
from io import BytesIO
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from common import clock
from mirror.read import Prefetched, known
from mirror.redis import Recording, record
from shop.pagecache.fragments import SplitError, split_pages
from shop.pagecache.requests import PageRequest
from shop.pagecache.stored_page import StoredPage

# The environment of the synthetic request: the address of the site.
KEPT_ENVIRON = (
    "SCRIPT_NAME", "PATH_INFO", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL", "wsgi.url_scheme", "HTTP_HOST",
    "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT",
)  # fmt: skip
# Headers that are not copied from the response: they belong to the visitor or to the filled page.
DROPPED_HEADERS = ("Content-Length", "Cache-Control", "Vary", "Set-Cookie")
GetResponse = Callable[[HttpRequest], HttpResponse]


class PageRefused(Exception):
    """The page must not be cached."""


def make_anonymous_request(asked: PageRequest) -> WSGIRequest:
    """Return the synthetic request of an anonymous visitor for the same page."""
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
    return WSGIRequest(environ)


def render_page(asked: PageRequest, ahead: Prefetched, get_response: GetResponse) -> StoredPage:
    """Render the page for an anonymous visitor from the replies in ``ahead``, and split it. Raises Refused."""
    http = make_anonymous_request(asked)
    made = clock.now().timestamp()
    # Only the replies in ``ahead``: they are the version of the page, and a later read could return newer data under
    # it.
    with record() as seen, known(ahead), split_pages() as cut:
        response = get_response(http)
        reason = find_refusal_reason(http, response, seen)
        if reason:
            raise PageRefused(reason)
        try:
            pieces = cut.split(response.content.decode(response.charset))
        except SplitError as error:
            raise PageRefused(str(error)) from error
    patch_vary_headers(response, ["Cookie"])
    headers = {name: value for name, value in response.items() if name not in DROPPED_HEADERS} | {
        "Vary": response["Vary"]
    }
    encode = str.encode
    return StoredPage(
        list(map(encode, pieces)),
        [placeholder for placeholder, _ in cut.placeholders],
        [encode(fill) for _, fill in cut.placeholders],
        headers,
        made,
    )


def find_refusal_reason(http: HttpRequest, response: HttpResponse, seen: Recording) -> str | None:
    """Return the reason why this response must not be cached, or None."""
    session: Any = getattr(http, "session", None)
    varies = {name.strip().lower() for name in response.get("Vary", "").split(",")}
    control = {word.strip().lower().partition("=")[0] for word in response.get("Cache-Control", "").split(",")}
    reasons = {
        "it streams": response.streaming,
        "its status is not 200": response.status_code != 200,
        "it is no HTML": not response.get("Content-Type", "").startswith("text/html"),
        "it is encoded": response.has_header("Content-Encoding"),
        "it sets a cookie": bool(response.cookies) or bool(http.META.get("CSRF_COOKIE_NEEDS_UPDATE")),
        "it looked at the session": session is not None and (session.accessed or session.modified),
        "it varies by cookie": bool({"cookie", "*"} & varies),
        "it says itself that it is not to be kept": bool({"private", "no-store", "no-cache", "max-age"} & control),
        "it asked Redis for more than was declared": bool(seen.round_trips),
        "it asked SQL": bool(seen.sql),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
