"""Headers of all pages: which scripts and styles a page may use, and who may keep it.

One strict policy, and a wider one for the admin alone.
"""

from collections.abc import Callable
from functools import cache
from typing import Final

from csp.constants import HEADER, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest, HttpResponse

ADMIN: Final = "/admin/"

# What django-unfold cannot do without: Alpine.js turns the attributes of the admin's templates into
# functions (eval), and templates of Django and unfold set sizes in style attributes. Scripts stay our own:
# no inline script runs in the admin either. The hash is that of the one style element that unfold's htmx
# writes into the page.
HTMX_INDICATOR: Final = "'sha256-bsV5JivYxvGywDAZ22EZJKBFip65Ng9xoJVLbBg7bdo='"
ADMIN_NEEDS: Final = {
    "script-src": [SELF, UNSAFE_EVAL],
    "style-src": [SELF, HTMX_INDICATOR],
    "style-src-attr": [UNSAFE_INLINE],
}


@cache
def strict_policy() -> str:
    """The policy of ``CONTENT_SECURITY_POLICY``, as a header."""
    return build_policy()


@cache
def admin_policy() -> str:
    """The same with what the admin needs."""
    return build_policy(replace=ADMIN_NEEDS)


PERSONAL: Final = "private, no-cache"  # "no-store" would disable the browser's back cache


class PolicyMiddleware:
    """Sets the headers. Both policies are built once: django-csp builds its own for each response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Django's own pages for developers bring their styles and scripts inline.
        for_developers = settings.DEBUG and response.status_code in (404, 500)
        if not for_developers and HEADER not in response:
            response[HEADER] = admin_policy() if request.path_info.startswith(ADMIN) else strict_policy()
        response.headers.setdefault("Permissions-Policy", settings.PERMISSIONS_POLICY)
        session = settings.SESSION_COOKIE_NAME
        control = response.headers.get("Cache-Control", "no-store")  # as Django's never_cache says
        if "no-store" in control and (session in request.COOKIES or session in response.cookies):
            response.headers["Cache-Control"] = PERSONAL
        return response
