"""Error pages. They use neither Redis nor SQL nor the user, because these may be the cause of the error."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from common.paths import make_path
from common.web.appearance import get_theme


def _render_error(request: HttpRequest, status: int, title: str, message: str) -> HttpResponse:
    if request.get_preferred_type(["text/html", "application/json"]) == "application/json":
        return JsonResponse({"error": {"message": title}}, status=status)
    context = {
        "status": status,
        "title": title,
        "message": message,
        "chosen_theme": get_theme(request),
        "is_reader": settings.SESSION_COOKIE_NAME in request.COOKIES,
        "is_own_fault": status >= 500,
        # Where a change of the theme leads. The page does not repeat its address: two missing pages are equal.
        "address": make_path("home"),
    }
    # Render without the request, because context processors would read users, sessions and messages.
    return HttpResponse(render_to_string("error.html", context), status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the page for status 400."""
    return _render_error(
        request,
        400,
        _("This did not work"),
        _("Something in the address or the form is not right. Go back and try again."),
    )


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the page for status 403."""
    return _render_error(
        request, 403, _("You don't have access to this page"), _("You may need to log in with a different account.")
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the page for status 404."""
    return _render_error(
        request,
        404,
        _("Page not found"),
        _("The address may be wrong, or the page is gone."),
    )


def unavailable(request: HttpRequest, title: str, message: str) -> HttpResponse:
    """Return a page for status 404 that says why the page is missing."""
    return _render_error(request, 404, title, message)


def method_not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    """Return the page for status 405. allowed: the value of the header ``Allow``."""
    response = _render_error(
        request, 405, _("This address has no page"), _("It only receives forms. Go back, and try again from there.")
    )
    response.headers["Allow"] = allowed
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the page for status 500."""
    return _render_error(
        request,
        500,
        _("Something went wrong"),
        _("This is our fault, not yours. Try again in a moment."),
    )


def too_busy(request: HttpRequest, seconds: int) -> HttpResponse:
    """Return the page for status 503 of an overloaded site. seconds: the value of the header ``Retry-After``."""
    response = _render_error(
        request, 503, _("The site is busy"), _("There are too many visitors right now. Try again in a moment.")
    )
    response.headers["Retry-After"] = str(seconds)
    response.headers["Cache-Control"] = "no-store"
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the page for status 403 after a missing or outdated CSRF token. ``reason`` is not shown."""
    return _render_error(
        request,
        403,
        _("This form has expired"),
        _("Go back, reload the page and try again. If this happens again, allow cookies for this site."),
    )
