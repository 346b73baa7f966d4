"""Clean the parameters of every form before a view reads them."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict

from common.text import clean_parameter, is_clean


class CleanParametersMiddleware:
    """Middleware that cleans ``request.GET`` and ``request.POST`` with ``common.text.clean_parameter``.

    It follows the CSRF middleware, which has parsed the body of every form. A view that is exempt from it checks the
    signature of its body, and gets that unchanged.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *arguments: Any) -> None:
        """Replace the parameters of the request, if cleaning changes one of them."""
        if "%" in request.META.get("QUERY_STRING", ""):
            request.GET = _clean(request.GET)  # type: ignore[assignment]
        if request.method == "POST" and not getattr(view, "csrf_exempt", False):
            request.POST = _clean(request.POST)  # type: ignore[assignment]


def _clean(given: QueryDict) -> QueryDict:
    if all(is_clean(value) for _, values in given.lists() for value in values):
        return given
    cleaned = given.copy()
    for name, values in given.lists():
        cleaned.setlist(name, [clean_parameter(name, value) for value in values])
    cleaned._mutable = False
    return cleaned
