"""``?explain=1``: a panel at the end of a page with its Redis commands and SQL. For staff; for everyone with DEBUG."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from mirror.redis import RecordedCommand, Recording, record

EXPLAIN_PARAMETER: Final = "explain"
MAX_TEXT_LENGTH: Final = 400  # characters of a command or statement in the panel


@dataclass(frozen=True)
class RoundTrip:
    """A round trip to Redis: its number (from 1) and its commands as text."""

    number: int
    commands: list[str]


class ExplainMiddleware:
    """Middleware that appends the commands, keys, round trips and SQL of an HTML page to the page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.GET.get(EXPLAIN_PARAMETER) != "1":
            return self.get_response(request)
        with record() as seen:
            if not _may_see(request):
                return self.get_response(request)
            response = self.get_response(request)
        if _can_hold_panel(response):
            _append_panel(response, render_to_string("explain.html", build_context(seen)))
        return response


def _may_see(request: HttpRequest) -> bool:
    if settings.DEBUG:
        return True
    # Without a session cookie the visitor is not logged in, and access to the user would open a session.
    return settings.SESSION_COOKIE_NAME in request.COOKIES and bool(getattr(request.user, "is_staff", False))


def _can_hold_panel(response: HttpResponse) -> bool:
    return (
        not response.streaming
        and not response.has_header("Content-Encoding")
        and response.headers.get("Content-Type", "").startswith("text/html")
        and b"</body>" in response.content
    )


def _append_panel(response: HttpResponse, panel: str) -> None:
    before, end, after = response.content.rpartition(b"</body>")
    response.content = before + panel.encode() + end + after
    response.headers["Cache-Control"] = "no-store"
    if response.has_header("Content-Length"):
        response.headers["Content-Length"] = str(len(response.content))


def build_context(seen: Recording) -> dict[str, object]:
    """Return the context of the panel's template for a recording."""
    grouped = groupby(seen.commands, key=lambda command: command.trip)
    return {
        "round_trips": seen.round_trips,
        "command_count": len(seen.commands),
        "keys": seen.keys(),
        "trips": [RoundTrip(number, [_shorten(c) for c in commands]) for number, commands in grouped],
        "statements": [(_shorten(sql), seconds * 1000) for sql, seconds in seen.sql],
        "sql_ms": sum(seconds for _, seconds in seen.sql) * 1000,
    }


def _shorten(shown: RecordedCommand | str) -> str:
    text = str(shown)
    return text if len(text) <= MAX_TEXT_LENGTH else text[:MAX_TEXT_LENGTH] + "…"
