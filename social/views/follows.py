"""Following, blocking and muting: forms with one button each, which return to the page in ``next``."""

from collections.abc import Callable
from typing import Final, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from accounts.models import User
from accounts.names import fold, page_of
from accounts.ratelimit import allow
from accounts.views.answers import go, must_log_in, refused, too_often
from config.answers import json, wants_json
from config.redirects import next_address
from social.people import Profile, profile
from social.services import people


class Verb(NamedTuple):
    """An action: its service, the JSON field ``flag`` and its value afterwards, and the message about it."""

    do: Callable[[int, int], bool]
    flag: str
    is_so: bool
    said: str | Promise


VERBS: Final = {
    "follow": Verb(people.follow, "is_following", True, _("You now follow %(name)s.")),
    "unfollow": Verb(people.unfollow, "is_following", False, _("You no longer follow %(name)s.")),
    "block": Verb(people.block, "is_blocked", True, _("You blocked %(name)s.")),
    "unblock": Verb(people.unblock, "is_blocked", False, _("You unblocked %(name)s.")),
    "mute": Verb(people.mute, "is_muted", True, _("You muted %(name)s.")),
    "unmute": Verb(people.unmute, "is_muted", False, _("You unmuted %(name)s.")),
}


OPPOSITE: Final = {"suggested": "following", "following": "suggested"}  # lists on the page "people"


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def block(request: HttpRequest, name: str) -> HttpResponse:
    """GET: explain blocking, with a button. POST: block the reader."""
    if request.method == "POST":
        return _act(request, name, "block")
    if not request.user.is_authenticated:
        return must_log_in(request)
    found = profile(name, request.user.pk)
    if found is None or found.is_me:
        raise Http404
    return render(request, "social/block.html", {"person": found})


@require_POST
def act(request: HttpRequest, name: str, verb: str) -> HttpResponse:
    """Run the action. htmx gets the new state of the button, JSON the new state and whether it changed."""
    return _act(request, name, verb)


def _act(request: HttpRequest, name: str, verb: str) -> HttpResponse:
    if not request.user.is_authenticated:
        return must_log_in(request, page_of(name))
    if seconds := _wait(request.user.pk, verb):
        return too_often(request, seconds, next_address(request, page_of(name) or "/people/"))
    person = _person(name)
    if person is None:
        raise Http404
    try:
        is_changed = _do(verb, request.user.pk, person.id)
    except people.NoSuchPerson as error:
        raise Http404 from error
    except people.Refused as error:
        return refused(request, str(error), next_address(request, person.url), 409)
    return _done(request, person, VERBS[verb], is_changed)


def _do(verb: str, user_id: int, target_id: int) -> bool:
    """Run the service. Return whether it changed anything.

    Removing a missing relation raises BlockedByThem if the target has blocked the reader.
    """
    is_changed = VERBS[verb].do(user_id, target_id)
    if not is_changed and verb.startswith("un") and people.is_blocked(target_id, user_id):
        raise people.BlockedByThem
    return is_changed


def _done(request: HttpRequest, person: Profile, verb: Verb, is_changed: bool) -> HttpResponse:
    if wants_json(request):
        user = {"id": person.id, "name": person.name, verb.flag: verb.is_so}
        return json({"user": user, "is_changed": is_changed})
    if request.htmx and verb.flag == "is_following":  # type: ignore[attr-defined]
        shown = {"id": person.id, "name": person.name, "url": person.url, "is_following": verb.is_so}
        column = request.POST.get("column", "")
        context = {"who": shown, "way_on": next_address(request, person.url), "is_part": True}
        if column not in OPPOSITE:
            return render(request, "social/_follow.html", context)
        response = render(request, "social/_follow.html", context | {"column": column})
        # Reload only the other list, so that the pressed button stays and keeps the focus.
        return trigger_client_event(response, f"{OPPOSITE[column]}-changed")
    messages.success(request, verb.said % {"name": person.name})
    # A blocked reader's own page may be missing, if that reader has also blocked the visitor.
    default = "/people/blocked/" if verb.flag == "is_blocked" else person.url
    return go(request, next_address(request, default))


def _person(name: str) -> Profile | None:
    """Return the user with this name, active or not, since actions on inactive users can be undone."""
    folded = fold(name)
    if not folded.isprintable():
        return None
    found = User.objects.filter(name_key=folded).values_list("pk", "username").first()
    return Profile(*found) if found else None


def _wait(user_id: int, verb: str) -> int:
    """Return the seconds until the action is allowed, or 0. Undoing an action has no rate limit."""
    if verb.startswith("un"):
        return 0
    waits = (allow(f"{verb}-{seconds}", user_id, most, seconds) for most, seconds in settings.FOLLOW_RATES)
    return next(filter(None, waits), 0)
