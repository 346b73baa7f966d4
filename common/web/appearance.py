"""The choice of theme and language. Each is stored in a cookie, so that visitors need no login."""

from typing import Final

from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied
from django.dispatch import Signal
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from django.views.i18n import set_language as django_set_language

from common.web.origin import is_cross_site
from common.web.redirects import get_next_address, redirect_to

THEMES: Final = ("system", "light", "dark")
THEME_COOKIE: Final = f"{settings.COOKIE_PREFIX}theme"
YEAR_SECONDS: Final = 365 * 24 * 3600
language_chosen: Final = Signal()  # request, language: a visitor has chosen a language


def get_theme(request: HttpRequest) -> str:
    """Return "light" or "dark", or "" for the system's theme or an invalid cookie."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in ("light", "dark") else ""


# Both forms are on every page. They have no CSRF token, because a page with a token differs for each visitor and cannot
# be cached. They only change the appearance of pages, and the views check the origin of the request instead.


@csrf_exempt
@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """Remember ``theme`` (system, light, dark) for a year and go back to ``next``. 400 for another theme."""
    if is_cross_site(request):
        raise PermissionDenied
    theme = request.POST.get("theme")
    if theme not in THEMES:
        raise BadRequest
    response = redirect_to(get_next_address(request, reverse("home")))
    if theme == "system":
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    else:
        response.set_cookie(
            THEME_COOKIE,
            theme,
            max_age=YEAR_SECONDS,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


@csrf_exempt
@require_POST
def set_language(request: HttpRequest) -> HttpResponseBase:
    """Call Django's own view after the same check of the origin, and send ``language_chosen``."""
    if is_cross_site(request):
        raise PermissionDenied
    response = django_set_language(request)
    language = request.POST.get("language", "")
    if language in dict(settings.LANGUAGES):
        language_chosen.send(set_language, request=request, language=language)
    return response
