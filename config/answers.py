"""Pages that answer in HTML or, if they are asked to, in JSON."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import orjson
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

JSON: Final = "application/json"
View = Callable[..., HttpResponse]


def wants_json(request: HttpRequest) -> bool:
    """By quality, then by order; also where a parameter (a charset) says no more than JSON says anyway."""
    preferred = request.get_preferred_type(["text/html", JSON])
    if preferred is None:
        return any((kind.main_type, kind.sub_type) == ("application", "json") for kind in request.accepted_types)
    return preferred == JSON


def is_partial(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of the page, and not for a page to stand in the place of this one."""
    headers = request.headers
    whole = "HX-Boosted" in headers or "HX-History-Restore-Request" in headers
    return "HX-Request" in headers and not whole


def json(content: Any, status: int = 200) -> HttpResponse:
    """``content`` as JSON."""
    return HttpResponse(orjson.dumps(content), content_type=JSON, status=status)


def personal(view: View) -> View:
    """Decorate a page about the logged-in visitor alone, which no cache keeps.

    Strangers are led to the log-in page, and from there back (JSON: 401).
    """

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            response = view(request, *args, **kwargs)
        elif wants_json(request):
            response = json({"error": {"message": _("Log in first.")}}, 401)
        else:
            response = redirect_to_login(request.get_full_path())
        patch_vary_headers(response, ["Accept"])
        return response

    return guarded
