"""Headers of all pages: the content security policy, and the caching of personal pages.

All pages have a strict policy, except those of the admin, which have a wider one.
"""

from collections.abc import Callable
from functools import cache
from typing import Final

from csp.constants import HEADER, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest, HttpResponse

ADMIN_PATH: Final = "/admin/"

# The requirements of django-unfold: Alpine.js turns attributes of the admin's templates into functions (eval), and
# templates of Django and unfold set sizes in style attributes. All scripts come from this site, and no inline script
# runs in the admin either. The hash allows the only style element that unfold's htmx writes into the page.
HTMX_INDICATOR: Final = "'sha256-bsV5JivYxvGywDAZ22EZJKBFip65Ng9xoJVLbBg7bdo='"
ADMIN_DIRECTIVES: Final = {
    "script-src": [SELF, UNSAFE_EVAL],
    "style-src": [SELF, HTMX_INDICATOR],
    "style-src-attr": [UNSAFE_INLINE],
}


@cache
def build_strict_policy() -> str:
    """Return the header value of ``CONTENT_SECURITY_POLICY``."""
    return build_policy()


@cache
def build_admin_policy() -> str:
    """Return the header value of the admin's wider policy."""
    return build_policy(replace=ADMIN_DIRECTIVES)


@cache
def build_policy_with_target(origin: str) -> str:
    """Return the header value of the strict policy on a page whose forms may lead to another origin."""
    return build_policy(update={"form-action": [origin]})


def allow_form_target(response: HttpResponse, origin: str) -> None:
    """Let the forms of this page, and redirects of their answers, lead to an origin ("https://host")."""
    response[HEADER] = build_policy_with_target(origin)


PERSONAL_CACHE_CONTROL: Final = "private, no-cache"  # "no-store" would disable the browser's back cache


class PolicyMiddleware:
    """Middleware that sets the headers. It builds each policy once, whereas django-csp builds one for each response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Django's debug pages have inline styles and scripts.
        for_developers = settings.DEBUG and response.status_code in (404, 500)
        if not for_developers and HEADER not in response:
            response[HEADER] = (
                build_admin_policy() if request.path_info.startswith(ADMIN_PATH) else build_strict_policy()
            )
        response.headers.setdefault("Permissions-Policy", settings.PERMISSIONS_POLICY)
        session = settings.SESSION_COOKIE_NAME
        control = response.headers.get("Cache-Control", "no-store")  # the value that Django's never_cache sets
        if "no-store" in control and (session in request.COOKIES or session in response.cookies):
            response.headers["Cache-Control"] = PERSONAL_CACHE_CONTROL
        return response
