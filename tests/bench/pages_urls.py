"""The URLs of the site and a minimal view as the baseline."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def ok(request: HttpRequest) -> HttpResponse:
    """Return a minimal page."""
    return HttpResponse("ok", headers={"Content-Length": "2"})


urlpatterns = [path("ok/", ok), path("", include("config.urls"))]
handler404, handler500 = "common.web.errors.not_found", "common.web.errors.server_error"
