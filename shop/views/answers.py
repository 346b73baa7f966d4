"""What several pages of the shop answer."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from config.answers import json, wants_json

View = Callable[..., HttpResponse]


def personal(view: View) -> View:
    """A page for who is logged in, about them alone: kept by no cache.

    Others are led to the log-in page, and from there back (JSON: 401).
    """

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            response = view(request, *args, **kwargs)
        elif wants_json(request):
            response = error(_("Log in first."), 401)
        else:
            response = redirect_to_login(request.get_full_path())
        patch_vary_headers(response, ["Accept"])
        return response

    return guarded


def error(message: str, status: int) -> HttpResponse:
    """What was not done, and why, in JSON."""
    return json({"error": {"message": message}}, status)
