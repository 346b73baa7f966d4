"""Responses with status 429."""

import math

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext


def render_too_many(request: HttpRequest, seconds: int, reason: str) -> HttpResponse:
    """Return a page with status 429, the reason and the time to wait."""
    context = {"reason": reason, "wait": describe_wait(seconds)}
    response = render(request, "accounts/too_many.html", context, status=429)
    response.headers["Retry-After"] = str(seconds)
    response.headers["Cache-Control"] = "no-store"
    return response


def describe_wait(seconds: int) -> str:
    """Return a duration in words, rounded up: "40 seconds", "15 minutes"."""
    if seconds < 60:
        return ngettext("%d second", "%d seconds", seconds) % seconds
    minutes = math.ceil(seconds / 60)
    return ngettext("%d minute", "%d minutes", minutes) % minutes


def render_locked_out(request: HttpRequest, seconds: int) -> HttpResponse:
    """Return the response to a refused login attempt, which is the same whether the name exists or not."""
    reason = _("Too many logins failed, so we did not check the password.")
    return render_too_many(request, seconds, reason)
