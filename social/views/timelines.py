"""My timeline and everybody's, in HTML and (``Accept: application/json``) in JSON."""

from typing import Any, Final
from urllib.parse import urlencode

import orjson
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.views.answers import must_log_in
from config.answers import is_partial, json, wants_json
from social.reading import PostPage, cursor
from social.selectors import MOST_NEW, global_timeline, home_timeline, new_posts

HOME: Final = "/home/"
GLOBAL: Final = "/global/"
MOST_SEEN: Final = 100  # ids in an address


@require_safe
@never_cache
def home(request: HttpRequest) -> HttpResponse:
    """``?after=``: what those whom I follow have posted, and I. The template gets ``page``, a ``PostPage``.

    Strangers are led to the log-in page (JSON: 401).
    """
    if not request.user.is_authenticated:
        return _varied(must_log_in(request))
    after = cursor(request.GET.get("after"))
    page = home_timeline(int(request.user.pk or 0), after)
    return _answer(request, page, "social/home.html", HOME, {"is_first": after is None, "poll_url": _poll_url(page)})


@require_safe
@never_cache
def new(request: HttpRequest) -> HttpResponse:
    """``?since=ID&seen=ID,ID``: how many posts have come to my timeline since a page of it was made (``new_posts``).

    For htmx: a bar that leads to them, or nothing. Asked for as a page: the timeline. Strangers as ``home``; but
    htmx is told 401, and the page that polls stays where it is.
    """
    if not request.user.is_authenticated:
        return _varied(HttpResponse(status=401) if is_partial(request) else must_log_in(request, HOME))
    seen = map(cursor, request.GET.get("seen", "").split(",")[:MOST_SEEN])
    since = cursor(request.GET.get("since")) or 0
    if wants_json(request):
        response = json({"count": _count(request, since, seen)})
    elif is_partial(request):
        count = _count(request, since, seen)
        response = render(request, "social/_new.html", {"count": count, "is_most": count >= MOST_NEW})
    else:
        response = HttpResponseRedirect(HOME)
    return _varied(response)


@require_safe
def everybody(request: HttpRequest) -> HttpResponse:
    """``?after=``: what everybody has posted. The template gets ``page``, a ``PostPage``."""
    viewer = request.user.pk if request.user.is_authenticated else None
    after = cursor(request.GET.get("after"))
    return _answer(request, global_timeline(viewer, after), "social/global.html", GLOBAL, {"is_first": after is None})


def _answer(request: HttpRequest, page: PostPage, template: str, path: str, more: dict[str, Any]) -> HttpResponse:
    if wants_json(request):
        response = json(results(page, path))
    else:
        part = bool(request.GET.get("after")) and is_partial(request)
        response = render(request, "social/_posts.html" if part else template, {"page": page, "older": path, **more})
    return _varied(response)


def _varied(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["Accept", "HX-Request"])
    return response


def results(page: PostPage, path: str) -> dict[str, Any]:
    """A page of the timeline at ``path``, for JSON."""
    return {
        "results": [orjson.Fragment(post.raw) for post in page.posts],
        "next": f"{path}?after={page.after}" if page.after else None,
        "newest": page.newest,
    }


def _poll_url(page: PostPage) -> str:
    seen = ",".join(str(post["id"]) for post in page.posts)
    return f"{HOME}new/?{urlencode({'since': page.newest, 'seen': seen}, safe=',')}"


def _count(request: HttpRequest, since: int, seen: Any) -> int:
    return new_posts(int(request.user.pk or 0), since, {pk for pk in seen if pk})
