"""The front page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """A welcome, a search by tags, and ways into the catalogue. Needs neither Redis nor SQL."""
    return render(request, "home.html")
