"""The URLs of the site, with added views that are declared for the page cache although they must not be cached."""

from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.template import engines
from django.urls import include, path

from catalog.selectors import get_book
from common.public_pages import public_page
from mirror.redis.clients import client

FRAME: Final = "<p>{{ text }}</p>"
View = Callable[[HttpRequest, int], Any]


def _page(request: HttpRequest, text: object = "well") -> HttpResponse:
    return HttpResponse(engines["jinja2"].from_string(FRAME).render({"text": str(text)}, request))


def well(request: HttpRequest, pk: int) -> HttpResponse:
    """Return a page that may be cached."""
    book = get_book(pk)
    return _page(request, book["title"] if book else "")


def _with_text(find: Callable[[HttpRequest], object]) -> View:
    """Return a view of a page with this text."""
    return lambda request, pk: _page(request, find(request))


def _changed(change: Callable[[HttpResponse], object]) -> View:
    """Return a view of a page that is changed."""

    def view(request: HttpRequest, pk: int) -> HttpResponse:
        response = _page(request)
        change(response)
        return response

    return view


def _with_header(name: str, value: str) -> View:
    return _changed(lambda response: response.headers.setdefault(name, value))


VIEWS: Final[dict[str, View]] = {
    "sets_a_cookie": _changed(lambda response: response.set_cookie("taste", "sweet")),
    "reads_the_session": _with_text(lambda request: request.session.get("name", "")),
    "writes_the_session": _with_text(lambda request: request.session.update({"name": "alice"})),
    "asks_who_it_is": _with_text(lambda request: request.user),
    "leaves_a_message": _with_text(lambda request: messages.success(request, "Well done.")),
    "is_an_error": _changed(lambda response: setattr(response, "status_code", 404)),
    "is_no_html": lambda request, pk: HttpResponse("well", content_type="text/plain"),
    "streams": lambda request, pk: StreamingHttpResponse(iter(["well"])),
    "asks_redis": _with_text(lambda request: client().exists("something else")),
    "asks_sql": _with_text(lambda request: connection.cursor().execute("SELECT 1")),
    "varies_by_cookie": _with_header("Vary", "Cookie"),
    "varies_by_everything": _with_header("Vary", "*"),
    "is_private": _with_header("Cache-Control", "private, max-age=0"),
    "is_not_to_be_stored": _with_header("Cache-Control", "no-store"),
    "is_compressed": _with_header("Content-Encoding", "br"),
}
urlpatterns = [
    *(
        path(f"pages/{name}/<int:pk>/", public_page()(view), name=name)
        for name, view in {"well": well, **VIEWS}.items()
    ),
    path("", include("config.urls")),
]
handler404, handler500 = "common.web.errors.not_found", "common.web.errors.server_error"
