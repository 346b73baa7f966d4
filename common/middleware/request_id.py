"""Give each request an id, which is in the header of its response and in its log lines.

django-structlog (42 us a request) loads the user and so the session of cached pages, and accepts any text as an id.
"""

import re
import secrets
from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from structlog.contextvars import bind_contextvars

HEADER: Final = "X-Request-ID"
ACCEPTED: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")


class RequestIdMiddleware:
    """Middleware that takes the id from the header, if it is short and harmless, or makes one.

    The id stays bound after the response, for work that follows it, until the thread gets its next request.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = given if ACCEPTED.fullmatch(given) else secrets.token_hex(16)
        bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response.headers[HEADER] = request_id
        return response
