"""The leaderboard and the last logins, in HTML and (with ``Accept: application/json``) in JSON."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from accounts.leaderboard.page import DEFAULT_LAST_LOGINS, Leaderboard, Person
from accounts.selectors import read_leaderboard
from common.public_pages import public_page
from common.web import get_visitor, json_response, wants_json


@require_safe
@public_page("at", "last")
def leaderboard(request: HttpRequest) -> HttpResponse:
    """Show a page of the leaderboard: ``?at=CURSOR&last=N``. The template gets it as ``page``. Staff see all
    users, others those who show their logins."""
    last = _parse_number(request.GET.get("last", ""))
    viewer = get_visitor(request)
    is_staff = bool(getattr(viewer, "is_staff", False))
    page = read_leaderboard(None if viewer is None else viewer.pk, request.GET.get("at", ""), last, is_whole=is_staff)
    if wants_json(request):
        response = json_response(_make_results(page))
    else:
        response = render(request, "accounts/leaderboard.html", {"page": page})
    patch_vary_headers(response, ["Accept"])
    return response


def _parse_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else DEFAULT_LAST_LOGINS


def _make_results(page: Leaderboard) -> dict[str, Any]:
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
