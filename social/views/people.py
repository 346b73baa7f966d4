"""Pages about readers, in HTML and (``Accept: application/json``) in JSON.

The page of a reader that has blocked the visitor is a 404, as for a name that does not exist.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import get_resolver
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.views.answers import must_log_in
from config.answers import is_partial, json, wants_json
from config.redirects import redirect_to
from social import people_lists
from social.common import Common, in_common
from social.people import Profile, profile
from social.people_lists import Line, PeoplePage
from social.reading import cursor
from social.selectors import posts_of
from social.suggestions import Suggestion, suggestions
from social.views.timelines import results

FEW = 10  # readers in each list of the page "people"


@require_safe
def person(request: HttpRequest, name: str) -> HttpResponse:
    """Show a reader's figures, follows in common with the visitor, and posts (``?after=``)."""
    found = profile(name, request.user.pk)
    if found is None or found.name != name:
        return elsewhere(request, found, "")
    if found.is_blocked:
        return answer(request, "social/person.html", {"person": found}, {"user": _user(found), **_page_json([], None)})
    page = posts_of(found.id, request.user.pk, cursor(request.GET.get("after")))
    if request.GET.get("after") and is_partial(request):
        return answer(request, "social/_posts.html", {"page": page, "older": found.url}, {})
    common = in_common(found)
    said = _user(found) | {"followed_by": _common(common.followed_by), "both_follow": _common(common.both_follow)}
    context = {"person": found, "common": common, "page": page}
    return answer(request, "social/person.html", context, {"user": said, **results(page, found.url)})


@require_safe
def followers(request: HttpRequest, name: str) -> HttpResponse:
    """List a reader's followers, newest first (``?after=``)."""
    return _follows(request, name, "followers", people_lists.followers_of)


@require_safe
def following(request: HttpRequest, name: str) -> HttpResponse:
    """List the readers that a reader follows, newest first (``?after=``)."""
    return _follows(request, name, "following", people_lists.following_of)


def _follows(request: HttpRequest, name: str, kind: str, find: Callable[..., PeoplePage]) -> HttpResponse:
    found = profile(name, request.user.pk)
    if found is None or found.name != name:
        return elsewhere(request, found, f"{kind}/")
    if found.is_blocked:
        return answer(request, "social/person.html", {"person": found}, {"user": _user(found), **_page_json([], None)})
    page = find(found.id, request.user.pk, cursor(request.GET.get("after")))
    older = _url(f"{found.url}{kind}/", page.after)
    context = {"person": found, "people": page.people, "next": older, "kind": kind}
    return answer(request, "social/follows.html", context, {"user": _user(found), **_list(page, older)})


@require_safe
@never_cache
def people(request: HttpRequest) -> HttpResponse:
    """Show suggestions, and the newest followed, muted and blocked readers."""
    if not request.user.is_authenticated:
        return must_log_in(request)
    me = request.user.pk
    suggested = suggestions(me)
    lists = {
        "following": people_lists.following_of(me, me, size=FEW),
        "muted": people_lists.muted_by(me, size=FEW),
        "blocked": people_lists.blocked_by(me, size=FEW),
    }
    own = profile(request.user.get_username(), me)
    urls = {kind: f"/people/{kind}/" for kind in lists} | {"following": f"{own.url}following/" if own else ""}
    content: dict[str, Any] = {kind: _list(page, _url(urls[kind], page.after)) for kind, page in lists.items()}
    content["suggestions"] = [_suggestion(each) for each in suggested]
    context = {"suggestions": suggested, "lists": lists, "urls": urls, "own": own}
    return answer(request, "social/people.html", context, content)


@require_safe
@never_cache
def shunned(request: HttpRequest, kind: str) -> HttpResponse:
    """List the muted or blocked readers, newest first (``?after=``), for the logged-in reader alone."""
    if not request.user.is_authenticated:
        return must_log_in(request)
    find = people_lists.muted_by if kind == "muted" else people_lists.blocked_by
    page = find(request.user.pk, cursor(request.GET.get("after")))
    older = _url(f"/people/{kind}/", page.after)
    return answer(
        request, "social/shunned.html", {"people": page.people, "next": older, "kind": kind}, _list(page, older)
    )


def answer(request: HttpRequest, template: str, context: dict[str, Any], content: dict[str, Any]) -> HttpResponse:
    response = json(content) if wants_json(request) else render(request, template, context)
    patch_vary_headers(response, ["Accept", "HX-Request"])
    return response


def elsewhere(request: HttpRequest, found: Profile | None, rest: str) -> HttpResponse:
    """Redirect to the page under the owner's spelling of the name; 404 if no such reader is visible."""
    response: HttpResponse
    if found is not None and found.url:
        given = request.GET.urlencode()
        response = redirect_to(f"{found.url}{rest}" + (f"?{given}" if given else ""))
    else:
        not_found: Any = get_resolver().resolve_error_handler(404)
        response = not_found(request, exception=Http404())
    patch_vary_headers(response, ["Accept", "Cookie"])
    return response


def _url(address: str, after: int | None) -> str | None:
    return f"{address}?{urlencode({'after': after})}" if after else None


def _page_json(results: list[Any], older: str | None) -> dict[str, Any]:
    return {"results": results, "next": older}


def _list(page: PeoplePage, older: str | None) -> dict[str, Any]:
    return _page_json([_line(line) for line in page.people], older)


def _user(found: Profile) -> dict[str, Any]:
    if found.is_blocked:
        return {"id": found.id, "name": found.name, "is_blocked": True, "is_muted": found.is_muted}
    return {
        name: getattr(found, name)
        for name in (
            "id", "name", "posts", "followers", "following",
            "is_me", "is_following", "follows_me", "is_muted", "is_blocked",
        )
    }  # fmt: skip


def _line(line: Line) -> dict[str, Any]:
    return {
        "id": line.id,
        "name": line.name,
        "since": line.since,
        "is_following": line.is_following,
        "follows_me": line.follows_me,
    }


def _suggestion(found: Suggestion) -> dict[str, Any]:
    return {"id": found.person.id, "name": found.person.name, "followed_by": found.count}


def _common(found: Common) -> dict[str, Any]:
    return {"count": found.count, "is_more": found.is_more, "names": [person.name for person in found.named]}
