"""Pages about readers, in HTML and (``Accept: application/json``) in JSON.

The page of a reader that has blocked the visitor is a 404, as for a name that does not exist.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import get_resolver, reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

import mirror
from accounts.selectors import find_user_by_former_name, find_user_id
from accounts.suspension import is_suspended
from catalog.search.selectors import search
from common.paths import make_path
from common.public_pages import public_page
from common.text import fold
from common.web import (
    get_user_id,
    get_viewer_id,
    is_partial,
    json_response,
    personal_page,
    redirect_to,
    unavailable,
    wants_json,
)
from social.profiles.selectors import read_about, read_texts
from social.profiles.similar import find_similar_readers
from social.relations import lists as people_lists
from social.relations.common import CommonReaders, find_common_follows
from social.relations.lists import ListedReader, PeoplePage
from social.relations.profiles import Profile, get_profile, get_profile_by_name, read_block_state
from social.relations.suggestions import Suggestion, suggest_readers
from social.selectors import get_posts_by
from social.timelines.pages import parse_cursor
from social.views.timelines import build_page_json

MAX_LISTED = 10  # readers in each list of the page "people"


@require_safe
@public_page("after")
def person(request: HttpRequest, name: str) -> HttpResponse:
    """Show a reader's figures, follows in common with the visitor, and posts (``?after=``)."""
    found = get_profile_by_name(name, get_viewer_id(request))
    if found is None or found.name != name:
        return redirect_to_spelling(request, found, "")
    if found.is_blocked or found.is_locked:
        return respond(
            request, "social/person.html", {"person": found}, {"user": _user_json(found), **_page_json([], None)}
        )
    with mirror.together() as reads:
        posts = reads(get_posts_by, found.id, get_viewer_id(request), parse_cursor(request.GET.get("after")))
        about = reads(read_about, found)
    page = posts.value
    if request.GET.get("after") and is_partial(request):
        return respond(request, "social/_posts.html", {"page": page, "older": found.url}, {})
    common = find_common_follows(found)
    user = (
        _user_json(found)
        | about.value.json
        | {
            "followed_by": _common_json(common.followed_by),
            "both_follow": _common_json(common.both_follow),
        }
    )
    context = {"person": found, "common": common, "page": page, "about": about.value}
    return respond(request, "social/person.html", context, {"user": user, **build_page_json(page, found.url)})


@require_safe
def followers(request: HttpRequest, name: str) -> HttpResponse:
    """List a reader's followers, newest first (``?after=``)."""
    return _show_follows(request, name, "followers", people_lists.list_followers)


@require_safe
def following(request: HttpRequest, name: str) -> HttpResponse:
    """List the readers that a reader follows, newest first (``?after=``)."""
    return _show_follows(request, name, "following", people_lists.list_following)


def _show_follows(request: HttpRequest, name: str, kind: str, find: Callable[..., PeoplePage]) -> HttpResponse:
    found = get_profile_by_name(name, request.user.pk)
    if found is None or found.name != name:
        return redirect_to_spelling(request, found, f"{kind}/")
    if found.is_blocked or found.is_locked:
        return respond(
            request, "social/person.html", {"person": found}, {"user": _user_json(found), **_page_json([], None)}
        )
    with mirror.together() as reads:
        about = reads(read_texts, found)
        listed = reads(find, found.id, request.user.pk, parse_cursor(request.GET.get("after")))
    page = listed.value
    older = build_page_address(f"{found.url}{kind}/", page.after)
    context = {"person": found, "about": about.value, "people": page.people, "next": older, "kind": kind}
    return respond(request, "social/follows.html", context, {"user": _user_json(found), **list_json(page, older)})


@require_safe
@personal_page
def people(request: HttpRequest) -> HttpResponse:
    """Show suggestions, and the newest followed, muted and blocked readers."""
    me = get_user_id(request)
    suggested = suggest_readers(me)
    similar = find_similar_readers(me, [each.person.id for each in suggested])
    lists = {
        "following": people_lists.list_following(me, me, size=MAX_LISTED),
        "muted": people_lists.list_muted(me, size=MAX_LISTED),
        "blocked": people_lists.list_blocked(me, size=MAX_LISTED),
    }
    own = get_profile_by_name(request.user.get_username(), me)
    urls = {kind: reverse(f"social:{kind}") for kind in ("muted", "blocked")}
    urls["following"] = make_path("social:following", own.name) if own and own.url else ""
    content: dict[str, Any] = {
        kind: list_json(page, build_page_address(urls[kind], page.after)) for kind, page in lists.items()
    }
    content["suggestions"] = [_suggestion_json(each) for each in suggested]
    content["similar"] = [{"id": one.person.id, "name": one.person.name, "books": one.books} for one in similar]
    context = {"suggestions": suggested, "similar": similar, "lists": lists, "urls": urls, "own": own}
    return respond(request, "social/people.html", context, content)


@require_safe
@personal_page
def complete_name(request: HttpRequest) -> HttpResponse:
    """Return the readers whose names begin with ``?q=``, as options for a mention in a post."""
    typed = fold(request.GET.get("q", ""))
    found = search(typed, get_user_id(request), 1).readers if typed else []
    return render(
        request, "social/_names.html", {"names": [one.name for one in found if fold(one.name).startswith(typed)]}
    )


@require_safe
@personal_page
def muted_or_blocked(request: HttpRequest, kind: str) -> HttpResponse:
    """List the muted or blocked readers, newest first (``?after=``), for the logged-in reader alone."""
    find = people_lists.list_muted if kind == "muted" else people_lists.list_blocked
    page = find(get_user_id(request), parse_cursor(request.GET.get("after")))
    older = build_page_address(reverse(f"social:{kind}"), page.after)
    shown = {"people": page.people, "next": older, "kind": kind}
    return respond(request, "social/blocked_and_muted.html", shown, list_json(page, older))


def respond(request: HttpRequest, template: str, context: dict[str, Any], content: dict[str, Any]) -> HttpResponse:
    response = json_response(content) if wants_json(request) else render(request, template, context)
    patch_vary_headers(response, ["Accept", "HX-Request"])
    return response


def redirect_to_spelling(request: HttpRequest, found: Profile | None, rest: str) -> HttpResponse:
    """Redirect to the page under the owner's spelling of the name; 404 if no such reader is visible.

    found: None if no reader has the name. A former name then leads to the present one, for good (301). The page of a
    suspended reader says so.
    A blocked reader gets the same answer as for an unknown name, on every page, in JSON and in headers.
    """
    response: HttpResponse
    if found is None and (renamed := _find_renamed(request)) is not None:
        response = redirect_to(_build_rest(request, renamed, rest), status=301)
        # The owner may take the name back, and another reader may have it in a year.
        response["Cache-Control"] = "no-cache"
    elif found is not None and found.url:
        response = redirect_to(_build_rest(request, found, rest))
    elif found is None and _is_suspended(request):
        text = _("The reader's page and posts are hidden until the suspension ends.")
        response = unavailable(request, _("This account is suspended"), text)
    else:
        not_found: Any = get_resolver().resolve_error_handler(404)
        response = not_found(request, exception=Http404())
    patch_vary_headers(response, ["Accept", "Cookie"])
    return response


def _find_renamed(request: HttpRequest) -> Profile | None:
    """Return the profile of the reader who had the name in the address before, if the visitor may see it."""
    match = request.resolver_match
    user_id = find_user_by_former_name(match.kwargs["name"]) if match is not None else None
    found = get_profile(user_id, get_viewer_id(request)) if user_id is not None else None
    return found if found is not None and found.url else None


def _is_suspended(request: HttpRequest) -> bool:
    """Return whether the name in the address is that of a suspended reader who has not blocked the visitor."""
    name = request.resolver_match.kwargs["name"] if request.resolver_match is not None else ""
    user_id = find_user_id(name) or find_user_by_former_name(name)
    if user_id is None or not is_suspended(user_id):
        return False
    return not read_block_state(get_viewer_id(request) or 0, user_id).is_blocking


def _build_rest(request: HttpRequest, found: Profile, rest: str) -> str:
    given = request.GET.urlencode()
    return f"{found.url}{rest}" + (f"?{given}" if given else "")


def build_page_address(address: str, after: int | None) -> str | None:
    return f"{address}?{urlencode({'after': after})}" if after else None


def _page_json(results: list[Any], older: str | None) -> dict[str, Any]:
    return {"results": results, "next": older}


def list_json(page: PeoplePage, older: str | None) -> dict[str, Any]:
    return _page_json([_line_json(line) for line in page.people], older)


def _user_json(found: Profile) -> dict[str, Any]:
    if found.is_blocked:
        return {"id": found.id, "name": found.name, "is_blocked": True, "is_muted": found.is_muted}
    if found.is_locked:
        shown = ("id", "name", "is_private", "is_requested", "follows_me", "is_muted", "is_blocked")
        return {name: getattr(found, name) for name in shown}
    return {
        name: getattr(found, name)
        for name in (
            "id", "name", "avatar", "is_private", "posts", "followers", "following",
            "is_me", "is_following", "follows_me", "is_muted", "is_blocked",
        )
    }  # fmt: skip


def _line_json(line: ListedReader) -> dict[str, Any]:
    return {
        "id": line.id,
        "name": line.name,
        "since": line.since,
        "is_following": line.is_following,
        "follows_me": line.follows_me,
    }


def _suggestion_json(found: Suggestion) -> dict[str, Any]:
    return {"id": found.person.id, "name": found.person.name, "followed_by": found.count}


def _common_json(found: CommonReaders) -> dict[str, Any]:
    return {"count": found.count, "is_more": found.is_more, "names": [person.name for person in found.named]}
