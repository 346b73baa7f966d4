"""Helpers for pages that answer in HTML or, on request, in JSON."""

from collections.abc import Callable
from functools import lru_cache, partial, wraps
from typing import Any, Final

import orjson
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from common.web.kept_forms import keep_form
from common.web.redirects import redirect_window

JSON_TYPE: Final = "application/json"
View = Callable[..., HttpResponse]
MAX_ACCEPT_LENGTH: Final = 200  # characters of a header that is remembered with its meaning


def wants_json(request: HttpRequest) -> bool:
    """Return whether the request prefers JSON to HTML, by quality, then by order.

    A parameter of the media type, such as a charset, is ignored if it alone prevents a match.
    """
    accept = request.META.get("HTTP_ACCEPT", "*/*")
    # Long headers would fill the cache with texts of any visitor.
    if len(accept) > MAX_ACCEPT_LENGTH:
        return _prefers_json(request)
    return _prefers_json_by_header(accept)


@lru_cache(maxsize=256)
def _prefers_json_by_header(accept: str) -> bool:
    request = HttpRequest()
    request.META["HTTP_ACCEPT"] = accept
    return _prefers_json(request)


def _prefers_json(request: HttpRequest) -> bool:
    preferred = request.get_preferred_type(["text/html", JSON_TYPE])
    if preferred is None:
        return any((kind.main_type, kind.sub_type) == ("application", "json") for kind in request.accepted_types)
    return preferred == JSON_TYPE


def is_partial(request: HttpRequest) -> bool:
    """Return whether htmx asks for a part of the page, and not for a whole new page."""
    headers = request.headers
    whole = "HX-Boosted" in headers or "HX-History-Restore-Request" in headers
    return "HX-Request" in headers and not whole


def get_user_id(request: HttpRequest) -> int:
    """Return the id of the logged-in visitor, or 0 for others."""
    return int(request.user.pk or 0)


def json_response(content: Any, status: int = 200) -> HttpResponse:
    """Return an answer with ``content`` as JSON."""
    return HttpResponse(orjson.dumps(content), content_type=JSON_TYPE, status=status)


def json_error(message: str, status: int) -> HttpResponse:
    """Return a JSON answer with the reason of a refusal."""
    return json_response({"error": {"message": message}}, status)


def require_login(request: HttpRequest, next_address: str | None = None) -> HttpResponse:
    """Redirect to the login page, which leads on to ``next_address`` (default: this URL); in JSON, status 401.

    A submitted form is kept, and the login leads on to the page that submits it again.
    """
    if wants_json(request):
        return json_error(_("Log in first."), 401)
    if kept_address := keep_form(request):
        messages.info(request, _("Log in to continue. Your input is kept."))
    target = kept_address or next_address or request.get_full_path()
    return redirect_window(request, redirect_to_login(target).url)


def personal_page(view: View | None = None, *, permission: str = "") -> Any:
    """Decorate a view for the logged-in visitor, or for staff with ``permission``, which no cache may keep.

    Other visitors get the answer of ``require_login``. Raises PermissionDenied without the permission.
    """
    if view is None:
        return partial(personal_page, permission=permission)

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user = request.user
        if not user.is_authenticated:
            response = require_login(request)
        elif permission and not (user.is_staff and user.has_perm(permission)):
            raise PermissionDenied
        else:
            response = view(request, *args, **kwargs)
        patch_vary_headers(response, ["Accept", "HX-Request"])
        return response

    return guarded
