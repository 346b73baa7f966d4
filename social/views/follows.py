"""Following, blocking and muting: forms with one button each, which return to the page in ``next``."""

from collections.abc import Callable
from typing import Final, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from accounts.models import User
from accounts.names import make_public_path
from accounts.ratelimit import count_at_rates
from accounts.selectors import find_user_by_former_name
from accounts.views import render_refusal, render_too_often
from common.text import fold
from common.web import get_next_address, get_user_id, json_response, redirect_window, require_login, wants_json
from social.relations.profiles import Profile, get_profile_by_name
from social.services import people
from social.views.people import redirect_to_spelling


class FollowAction(NamedTuple):
    """An action: its service, the JSON field ``json_field`` and its value afterwards, and the message about it."""

    run: Callable[[int, int], bool]
    json_field: str
    value_after: bool
    message: str | Promise


ACTIONS: Final = {
    "follow": FollowAction(people.follow, "is_following", True, _("You now follow %(name)s.")),
    "unfollow": FollowAction(people.unfollow, "is_following", False, _("You no longer follow %(name)s.")),
    "accept": FollowAction(people.accept_follower, "follows_me", True, _("%(name)s now follows you.")),
    "decline": FollowAction(people.remove_follower, "follows_me", False, _("You declined the request of %(name)s.")),
    "remove": FollowAction(people.remove_follower, "follows_me", False, _("%(name)s no longer follows you.")),
    "block": FollowAction(people.block, "is_blocked", True, _("You blocked %(name)s.")),
    "unblock": FollowAction(people.unblock, "is_blocked", False, _("You unblocked %(name)s.")),
    "mute": FollowAction(people.mute, "is_muted", True, _("You muted %(name)s.")),
    "unmute": FollowAction(people.unmute, "is_muted", False, _("You unmuted %(name)s.")),
}


OTHER_COLUMN: Final = {
    "suggested": "following",
    "similar": "following",
    "following": "suggested",
}  # lists on the page "people"


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def block(request: HttpRequest, name: str) -> HttpResponse:
    """GET: explain blocking, with a button. POST: block the reader."""
    if request.method == "POST":
        return _run_action(request, name, "block")
    if not request.user.is_authenticated:
        return require_login(request)
    found = get_profile_by_name(name, request.user.pk)
    if found is None:
        return redirect_to_spelling(request, None, "block/")
    if found.is_me:
        raise Http404
    return render(request, "social/block.html", {"person": found})


@require_POST
def run_action(request: HttpRequest, name: str, verb: str) -> HttpResponse:
    """Run the action. htmx gets the new state of the button, JSON the new state and whether it changed."""
    return _run_action(request, name, verb)


def _run_action(request: HttpRequest, name: str, verb: str) -> HttpResponse:
    if not request.user.is_authenticated:
        return require_login(request, make_public_path(name))
    if seconds := _seconds_to_wait(request.user.pk, verb):
        default = make_public_path(name) or reverse("social:people")
        return render_too_often(request, seconds, get_next_address(request, default))
    person = _find_user(name)
    if person is None:
        raise Http404
    try:
        is_changed = _run_service(verb, request.user.pk, person.id)
    except people.NoSuchPerson as error:
        raise Http404 from error
    except people.ActionRefused as error:
        return render_refusal(request, str(error), get_next_address(request, person.url), 409)
    return _respond(request, person, ACTIONS[verb], is_changed)


def _run_service(verb: str, user_id: int, target_id: int) -> bool:
    """Run the service. Return whether it changed anything.

    Removing a missing relation raises BlockedByThem if the target has blocked the reader.
    """
    is_changed = ACTIONS[verb].run(user_id, target_id)
    if not is_changed and verb != "block" and people.is_blocked(target_id, user_id):
        raise people.BlockedByThem
    return is_changed


def _respond(request: HttpRequest, person: Profile, verb: FollowAction, is_changed: bool) -> HttpResponse:
    # A private account has only been asked.
    is_requested = verb is ACTIONS["follow"] and people.is_requested(get_user_id(request), person.id)
    value = verb.value_after and not is_requested
    if wants_json(request):
        user = {"id": person.id, "name": person.name, verb.json_field: value}
        if is_requested:
            user["is_requested"] = True
        return json_response({"user": user, "is_changed": is_changed})
    if request.htmx and verb.json_field == "is_following":  # type: ignore[attr-defined]
        shown = {"id": person.id, "name": person.name, "url": person.url}
        shown |= {"is_following": value, "is_requested": is_requested}
        column = request.POST.get("column", "")
        context = {"who": shown, "next_address": get_next_address(request, person.url), "is_part": True}
        if column not in OTHER_COLUMN:
            return render(request, "social/_follow.html", context)
        response = render(request, "social/_follow.html", context | {"column": column})
        # Reload only the other list, so that the pressed button stays and keeps the focus.
        return trigger_client_event(response, f"{OTHER_COLUMN[column]}-changed")
    message = _("You asked to follow %(name)s.") if is_requested else verb.message
    messages.success(request, message % {"name": person.name})
    # A blocked reader's own page may be missing, if that reader has also blocked the visitor.
    default = reverse("social:blocked") if verb.json_field == "is_blocked" else person.url
    return redirect_window(request, get_next_address(request, default))


def _find_user(name: str) -> Profile | None:
    """Return the user with this name, active or not, since actions on inactive users can be undone.

    A page that was opened before a change of name has the former one.
    """
    # Addresses may contain anything, also characters that PostgreSQL refuses.
    folded = fold(name)
    if not folded.isprintable():
        return None
    people = User.objects.values_list("pk", "username")
    found = people.filter(name_key=folded).first() or people.filter(pk=find_user_by_former_name(name)).first()
    return Profile(*found) if found else None


def _seconds_to_wait(user_id: int, verb: str) -> int:
    """Return the seconds until the action is allowed, or 0. Undoing an action has no rate limit."""
    return 0 if verb.startswith("un") else count_at_rates(verb, user_id, settings.FOLLOW_RATES)
