"""The leaderboard and the last logins, in HTML and (with ``Accept: application/json``) in JSON."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from accounts.leaderboard import LAST, Leaderboard, Person
from accounts.selectors import leaderboard as find
from config.answers import json, wants_json


@require_safe
def leaderboard(request: HttpRequest) -> HttpResponse:
    """Show a page of the leaderboard: ``?at=CURSOR&last=N``. The template gets it as ``page``."""
    page = find(request.user.pk, request.GET.get("at", ""), _number(request.GET.get("last", "")))
    if wants_json(request):
        response = json(_results(page))
    else:
        response = render(request, "accounts/leaderboard.html", {"page": page})
    patch_vary_headers(response, ["Accept"])
    return response


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else LAST


def _results(page: Leaderboard) -> dict[str, Any]:
    def people(found: list[Person]) -> list[dict[str, Any]]:
        return [person._asdict() for person in found]

    return {
        "count": page.count,
        "most": people(page.most),
        "me": page.me and page.me._asdict(),
        "neighbours": people(page.neighbours),
        "last": [person._asdict() for person in page.last],
        "next": page.next_url,
        "previous": page.previous_url,
    }
