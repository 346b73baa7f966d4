"""The URLs of the site, with added views that are declared for the page cache although they must not be cached."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template import engines
from django.urls import include, path

from catalog.selectors import get_book
from common.public_pages import public_page
from mirror.redis.clients import client

FRAME = "<p>{{ text }}</p>"


def _page(request: HttpRequest, text: str = "well", body: str = FRAME) -> HttpResponse:
    return HttpResponse(engines["jinja2"].from_string(body).render({"text": text}, request))


def well(request: HttpRequest, pk: int) -> HttpResponse:
    """Return a page that may be cached."""
    book = get_book(pk)
    return _page(request, book["title"] if book else "")


def sets_a_cookie(request: HttpRequest, pk: int) -> HttpResponse:
    response = _page(request)
    response.set_cookie("taste", "sweet")
    return response


def reads_the_session(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, str(request.session.get("name", "")))


def writes_the_session(request: HttpRequest, pk: int) -> HttpResponse:
    request.session["name"] = "alice"
    return _page(request)


def asks_who_it_is(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, str(request.user))


def leaves_a_message(request: HttpRequest, pk: int) -> HttpResponse:
    messages.success(request, "Well done.")
    return _page(request)


def is_an_error(request: HttpRequest, pk: int) -> HttpResponse:
    response = _page(request)
    response.status_code = 404
    return response


def is_no_html(request: HttpRequest, pk: int) -> HttpResponse:
    return HttpResponse("well", content_type="text/plain")


def streams(request: HttpRequest, pk: int) -> HttpResponseBase:
    return StreamingHttpResponse(iter(["well"]))


def asks_redis(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, str(client().exists("something else")))


def asks_sql(request: HttpRequest, pk: int) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return _page(request)


def _with_header(name: str, value: str) -> Callable[[HttpRequest, int], HttpResponse]:
    def view(request: HttpRequest, pk: int) -> HttpResponse:
        response = _page(request)
        response[name] = value
        return response

    return view


OWN = (
    sets_a_cookie, reads_the_session, writes_the_session, asks_who_it_is, leaves_a_message, is_an_error, is_no_html,
    streams, asks_redis, asks_sql,
)  # fmt: skip
HEADERS = {
    "varies_by_cookie": ("Vary", "Cookie"),
    "varies_by_everything": ("Vary", "*"),
    "is_private": ("Cache-Control", "private, max-age=0"),
    "is_not_to_be_stored": ("Cache-Control", "no-store"),
    "is_compressed": ("Content-Encoding", "br"),
}
VIEWS: dict[str, Any] = {view.__name__: public_page()(view) for view in OWN}
VIEWS |= {name: public_page()(_with_header(*header)) for name, header in HEADERS.items()}
PAGES = {"well": public_page()(well), **VIEWS}
urlpatterns = [
    *(path(f"pages/{name}/<int:pk>/", view, name=name) for name, view in PAGES.items()),
    path("", include("config.urls")),
]
handler404, handler500 = "common.web.errors.not_found", "common.web.errors.server_error"
