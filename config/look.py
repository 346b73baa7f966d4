"""What a visitor may choose without being known: the theme and the language. Each is one cookie."""

from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from django.views.i18n import set_language as django_set_language

from config.redirects import next_address, redirect_to

THEMES: Final = ("system", "light", "dark")
COOKIE: Final = f"{settings.COOKIE_PREFIX}theme"
A_YEAR: Final = 365 * 24 * 3600


def theme_of(request: HttpRequest) -> str:
    """ "light" or "dark"; "" when the visitor leaves it to the system (or the cookie says nonsense)."""
    chosen = request.COOKIES.get(COOKIE, "")
    return chosen if chosen in ("light", "dark") else ""


def _from_elsewhere(request: HttpRequest) -> bool:
    """Whether another site sent this form."""
    origin = request.headers.get("Origin")
    if origin and origin != "null":
        return urlsplit(origin).netloc != request.get_host()
    return request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none")


# Both forms stand on every page, so they carry no token: a page with one could not be the same for
# everybody, and so never be cached. What they change is how a page looks; where they come from is checked.


@csrf_exempt
@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """Remember ``theme`` (system, light, dark) for a year and go back to ``next``. 400 for another theme."""
    if _from_elsewhere(request):
        raise PermissionDenied
    theme = request.POST.get("theme")
    if theme not in THEMES:
        raise BadRequest
    response = redirect_to(next_address(request, "/"))
    if theme == "system":
        response.delete_cookie(COOKIE, samesite="Lax")
    else:
        response.set_cookie(
            COOKIE,
            theme,
            max_age=A_YEAR,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


@csrf_exempt
@require_POST
def set_language(request: HttpRequest) -> HttpResponseBase:
    """Django's own view, behind the same check of where the form comes from."""
    if _from_elsewhere(request):
        raise PermissionDenied
    return django_set_language(request)
