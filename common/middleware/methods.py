"""Refuse request methods that no address offers, and answer each refusal with a page."""

from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from common.web.errors import method_not_allowed

OFFERED_METHODS: Final = ("GET", "HEAD", "POST")


class OfferedMethodsMiddleware:
    """Middleware that answers 405 to all other methods, because the admin's views treat them as GET.

    Decorators cannot be added to those views. OPTIONS is refused as well: no page serves other sites.
    It follows the CSRF middleware, so that a missing token is reported first.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        return method_not_allowed(request, response.headers["Allow"]) if response.status_code == 405 else response

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        """Refuse a method before the view is called."""
        return None if request.method in OFFERED_METHODS else HttpResponseNotAllowed(OFFERED_METHODS)
