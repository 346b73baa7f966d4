"""The site that sent a request, as the browser states it. No script can set or change these headers.

They prove as much as a CSRF token, so a form of an outdated page passes without one. An earlier token would not do: one
that an attacker has set before the login would remain valid after it.
"""

from urllib.parse import urlsplit

from django.http import HttpRequest


def is_same_origin(request: HttpRequest) -> bool:
    """Return whether the browser states that a page of this site (scheme, host and port) sent the request."""
    origin = f"{request.scheme}://{request.get_host()}"
    return request.headers.get("Origin") == origin and _get_site(request) == "same-origin"


def is_cross_site(request: HttpRequest) -> bool:
    """Return whether another site sent this form. A request without any statement counts as one of this site."""
    origin = request.headers.get("Origin")
    if origin and origin != "null":
        return urlsplit(origin).netloc != request.get_host()
    return _get_site(request) not in ("same-origin", "none")


def _get_site(request: HttpRequest) -> str:
    return request.headers.get("Sec-Fetch-Site", "same-origin")
