"""Shed load while Redis is away: anonymous readers of long lists wait first, so that SQL has room for everyone else."""

import threading
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from common.web.errors import too_busy
from mirror.redis import breaker


class ShedLoadMiddleware:
    """Let at most ``SHED_LISTS`` of these requests run at once in this process, while Redis has failed lately.

    The pages are those of ``SHED_VIEWS``. Requests with a session cookie are never refused.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._places = threading.BoundedSemaphore(settings.SHED_LISTS)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            return self.get_response(request)
        finally:
            if getattr(request, "has_shed_place", False):
                self._places.release()

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        """Refuse a request for a long list if too many are being answered. Remember whether it took a place."""
        match = request.resolver_match
        is_first_to_wait = match is not None and match.view_name in settings.SHED_VIEWS
        if not is_first_to_wait or settings.SESSION_COOKIE_NAME in request.COOKIES or not breaker.failed_lately():
            return None
        if self._places.acquire(blocking=False):
            request.has_shed_place = True  # type: ignore[attr-defined]
            return None
        return too_busy(request, settings.SHED_RETRY_SECONDS)
