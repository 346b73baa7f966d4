"""The home timeline and the global timeline, in HTML and (``Accept: application/json``) in JSON."""

from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.public_pages import public_page
from common.web import (
    get_user_id,
    get_viewer_id,
    is_partial,
    json_response,
    personal_page,
    redirect_to_view,
    require_login,
    wants_json,
)
from social.selectors import MAX_NEW_POSTS, count_new_posts, get_global_timeline, get_home_timeline
from social.timelines.pages import PostPage, parse_cursor

MAX_SEEN_IDS: Final = 100  # ids in an address


@require_safe
@personal_page
def home(request: HttpRequest) -> HttpResponse:
    """Show the home timeline (``?after=``). The template gets ``page``, a ``PostPage``.

    Visitors without a login are redirected to the login page (JSON: 401).
    """
    after = parse_cursor(request.GET.get("after"))
    page = get_home_timeline(get_user_id(request), after)
    shown = {"is_first": after is None, "poll_url": _build_poll_url(page)}
    return _render_page(request, page, "social/home.html", reverse("social:home"), shown)


@require_safe
@never_cache
def new_posts_bar(request: HttpRequest) -> HttpResponse:
    """Count the posts that a rendered page of the home timeline lacks (``?since=ID&seen=ID,ID``).

    htmx gets a bar with a link to them, or nothing; a browser is redirected to the timeline. Visitors without a login
    are treated as in ``home``, except that htmx gets a 401, so that the polling page stays.
    """
    if not request.user.is_authenticated:
        home = reverse("social:home")
        return _vary_on_format(HttpResponse(status=401) if is_partial(request) else require_login(request, home))
    seen = map(parse_cursor, request.GET.get("seen", "").split(",")[:MAX_SEEN_IDS])
    since = parse_cursor(request.GET.get("since")) or 0
    if wants_json(request):
        response = json_response({"count": _count_new(request, since, seen)})
    elif is_partial(request):
        count = _count_new(request, since, seen)
        response = render(request, "social/_new.html", {"count": count, "is_most": count >= MAX_NEW_POSTS})
    else:
        response = redirect_to_view("social:home")
    return _vary_on_format(response)


@require_safe
@public_page("after")
def global_posts(request: HttpRequest) -> HttpResponse:
    """Show all posts (``?after=``). The template gets ``page``, a ``PostPage``."""
    viewer = get_viewer_id(request)
    after = parse_cursor(request.GET.get("after"))
    page, shown = get_global_timeline(viewer, after), {"is_first": after is None}
    return _render_page(request, page, "social/global.html", reverse("social:global"), shown)


def _render_page(request: HttpRequest, page: PostPage, template: str, path: str, more: dict[str, Any]) -> HttpResponse:
    if wants_json(request):
        response = json_response(build_page_json(page, path))
    else:
        part = bool(request.GET.get("after")) and is_partial(request)
        response = render(request, "social/_posts.html" if part else template, {"page": page, "older": path, **more})
    return _vary_on_format(response)


def _vary_on_format(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["Accept", "HX-Request"])
    return response


def build_page_json(page: PostPage, path: str) -> dict[str, Any]:
    """Return a page of the timeline at ``path`` as a value for JSON."""
    return {
        "results": [post.json for post in page.posts],
        "next": f"{path}?after={page.after}" if page.after else None,
        "newest": page.newest,
    }


def _build_poll_url(page: PostPage) -> str:
    seen = ",".join(str(post["id"]) for post in page.posts)
    return f"{reverse('social:new_posts')}?{urlencode({'since': page.newest, 'seen': seen}, safe=',')}"


def _count_new(request: HttpRequest, since: int, seen: Any) -> int:
    return count_new_posts(get_user_id(request), since, {pk for pk in seen if pk})
