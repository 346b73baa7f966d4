"""Responses that several views share, in HTML, for htmx and in JSON: refusal, rate limit, suspended user."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from accounts.models import User
from accounts.suspension import find_suspension
from accounts.views.too_many import describe_wait
from common.web import json_error, wants_json


def render_refusal(request: HttpRequest, why: str, address: str, status: int) -> HttpResponse:
    """Return a page with the reason of a refusal and a link to ``address``.

    A request of htmx is redirected to ``address``, which shows the reason as a message.
    """
    if wants_json(request):
        return json_error(why, status)
    if request.htmx:  # type: ignore[attr-defined]
        messages.error(request, why)
        response: HttpResponse = HttpResponseClientRedirect(address)
        response.status_code = status
        return response
    return render(request, "accounts/refused.html", {"why": why, "back": address}, status=status)


def render_suspended(request: HttpRequest, user: User) -> HttpResponse:
    """Return the answer to a login of a suspended user: its end, and the way to the reasons and to an appeal."""
    return render(request, "accounts/suspended.html", {"suspension": find_suspension(user)}, status=403)


def render_too_often(request: HttpRequest, seconds: int, address: str) -> HttpResponse:
    """Return status 429 with the time until the next attempt."""
    why = _("That was too often. Try again in %(wait)s.") % {"wait": describe_wait(seconds)}
    response = render_refusal(request, why, address, 429)
    response.headers["Retry-After"] = str(seconds)
    return response
