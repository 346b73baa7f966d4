"""The URLs of the site and a minimal view as the baseline."""

import os
from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from shop.pagecache.cached_pages import BOOK_PAGE
from shop.pagecache.registry import register_page


def ok(request: HttpRequest) -> HttpResponse:
    """Return a minimal page."""
    return HttpResponse("ok", headers={"Content-Length": "2"})


urlpatterns = [path("ok/", ok), path("", include("config.urls"))]
handler404, handler500 = "common.web.errors.not_found", "common.web.errors.server_error"

if os.environ["BENCH_SERVER"] == "ungated":
    register_page(replace(BOOK_PAGE, find_member=lambda pk: None))
