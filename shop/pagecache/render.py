"""Making a page to be remembered: as nobody sees it.

It is rendered for a request of its own that has nothing of anybody: no cookies, no address, no header beside what the
page is remembered by. And it is refused if it turns out to be made of more than was declared.
"""

from collections.abc import Callable
from io import BytesIO
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from config import clock
from mirror.prefetch import Prefetched, known
from mirror.recorder import Recording, record
from shop.pagecache.asked import Request
from shop.pagecache.holes import NotCuttable, cutting
from shop.pagecache.shells import Shell

# What of a request's environment a nobody's request has as well: where the site is.
KEPT = (
    "SCRIPT_NAME", "PATH_INFO", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL", "wsgi.url_scheme", "HTTP_HOST",
    "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT",
)  # fmt: skip
OWN_HEADERS = ("Content-Length", "Cache-Control", "Vary", "Set-Cookie")  # not taken over as they are
GetResponse = Callable[[HttpRequest], HttpResponse]


class Refused(Exception):
    """The page may not be remembered."""


def nobodys(asked: Request) -> WSGIRequest:
    """The same request, as made by nobody."""
    given: dict[str, Any] = asked.http.META
    environ = {name: given[name] for name in KEPT if name in given} | {
        "REQUEST_METHOD": "GET",
        "QUERY_STRING": asked.query,
        "HTTP_ACCEPT": "text/html",
        "HTTP_ACCEPT_LANGUAGE": asked.language,
        "HTTP_SEC_PURPOSE": "prefetch",  # nobody looks at it
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": BytesIO(),
    }
    return WSGIRequest(environ)


def make(asked: Request, ahead: Prefetched, get_response: GetResponse) -> Shell:
    """Render the page for nobody, from what was asked ahead, and split it at its holes. Raises Refused."""
    http = nobodys(asked)
    made = clock.now().timestamp()
    with record() as seen, known(ahead), cutting() as cut:
        response = get_response(http)
        reason = why_not(http, response, seen)
        if reason:
            raise Refused(reason)
        try:
            pieces = cut.split(response.content.decode(response.charset))
        except NotCuttable as error:
            raise Refused(str(error)) from error
    patch_vary_headers(response, ["Cookie"])
    headers = {name: value for name, value in response.items() if name not in OWN_HEADERS} | {"Vary": response["Vary"]}
    encode = str.encode
    return Shell(
        list(map(encode, pieces)),
        [hole for hole, _ in cut.holes],
        [encode(fill) for _, fill in cut.holes],
        headers,
        made,
    )


def why_not(http: HttpRequest, response: HttpResponse, seen: Recording) -> str | None:
    """Why an answer to nobody may not be remembered; None: it may."""
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
