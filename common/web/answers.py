"""Helpers for pages that answer in HTML or, on request, in JSON."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import orjson
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

JSON_TYPE: Final = "application/json"
View = Callable[..., HttpResponse]


def wants_json(request: HttpRequest) -> bool:
    """Return whether the request prefers JSON to HTML, by quality, then by order.

    A parameter of the media type, such as a charset, is ignored if it alone prevents a match.
    """
    preferred = request.get_preferred_type(["text/html", JSON_TYPE])
    if preferred is None:
        return any((kind.main_type, kind.sub_type) == ("application", "json") for kind in request.accepted_types)
    return preferred == JSON_TYPE


def is_partial(request: HttpRequest) -> bool:
    """Return whether htmx asks for a part of the page, and not for a whole new page."""
    headers = request.headers
    whole = "HX-Boosted" in headers or "HX-History-Restore-Request" in headers
    return "HX-Request" in headers and not whole


def json_response(content: Any, status: int = 200) -> HttpResponse:
    """Return an answer with ``content`` as JSON."""
    return HttpResponse(orjson.dumps(content), content_type=JSON_TYPE, status=status)


def personal_page(view: View) -> View:
    """Decorate a page about the logged-in visitor, which no cache may keep.

    Other visitors are redirected to the log-in page, which leads back to the page (JSON: 401).
    """

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            response = view(request, *args, **kwargs)
        elif wants_json(request):
            response = json_response({"error": {"message": _("Log in first.")}}, 401)
        else:
            response = redirect_to_login(request.get_full_path())
        patch_vary_headers(response, ["Accept"])
        return response

    return guarded
