"""The front page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.selectors import last_logins


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """A welcome, a search by tags, ways into the catalogue, and who was here last (one round trip to Redis)."""
    return render(request, "home.html", {"last_logins": last_logins()})
