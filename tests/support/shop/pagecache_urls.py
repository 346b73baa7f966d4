"""The URLs of the site, with added views that are declared for the page cache although they must not be cached."""

from typing import Any

from django.contrib import messages
from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template import engines
from django.urls import include, path
from django.utils.cache import patch_vary_headers

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


def varies_by_cookie(request: HttpRequest, pk: int) -> HttpResponse:
    response = _page(request)
    patch_vary_headers(response, ["Cookie"])
    return response


def varies_by_everything(request: HttpRequest, pk: int) -> HttpResponse:
    response = _page(request)
    response["Vary"] = "*"
    return response


def is_private(request: HttpRequest, pk: int) -> HttpResponse:
    response = _page(request)
    response["Cache-Control"] = "private, max-age=0"
    return response


def is_not_to_be_stored(request: HttpRequest, pk: int) -> HttpResponse:
    response = _page(request)
    response["Cache-Control"] = "no-store"
    return response


def is_an_error(request: HttpRequest, pk: int) -> HttpResponse:
    response = _page(request)
    response.status_code = 404
    return response


def is_no_html(request: HttpRequest, pk: int) -> HttpResponse:
    return HttpResponse("well", content_type="text/plain")


def is_compressed(request: HttpRequest, pk: int) -> HttpResponse:
    response = _page(request)
    response["Content-Encoding"] = "br"
    return response


def streams(request: HttpRequest, pk: int) -> HttpResponseBase:
    return StreamingHttpResponse(iter(["well"]))


def asks_redis(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, str(client().exists("something else")))


def asks_sql(request: HttpRequest, pk: int) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return _page(request)


VIEWS: dict[str, Any] = {
    view.__name__: public_page()(view)
    for view in (
        *(sets_a_cookie, reads_the_session, writes_the_session, asks_who_it_is, leaves_a_message),
        *(varies_by_cookie, varies_by_everything, is_private, is_not_to_be_stored, is_an_error, is_no_html),
        *(is_compressed, streams, asks_redis, asks_sql),
    )
}
PAGES = {"well": public_page()(well), **VIEWS}
urlpatterns = [
    *(path(f"pages/{name}/<int:pk>/", view, name=name) for name, view in PAGES.items()),
    path("", include("config.urls")),
]
handler404, handler500 = "common.web.errors.not_found", "common.web.errors.server_error"
