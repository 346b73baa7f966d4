"""Pages of notifications, in HTML and in JSON, and the link of emails that unsubscribes."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.timezone import is_aware, localdate
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.notifications import selectors, services
from accounts.notifications.emails.unsubscribing import read_token
from accounts.notifications.mirrors import NotificationMirror
from accounts.notifications.models import Way
from accounts.notifications.pages import header, sentences
from accounts.notifications.pages.forms import WaysForm
from common import clock
from common.ids import MAX_ID
from common.web import get_user_id, json_error, json_response, personal_page, redirect_to, redirect_to_view, wants_json
from mirror.utils import SQL_AWAY


@require_safe
@personal_page
def notifications(request: HttpRequest) -> HttpResponse:
    """Show the reader's notifications (``?after=``). The template gets ``page``, a ``NotificationPage``."""
    after = request.GET.get("after", "")
    page = selectors.get_page(get_user_id(request), after)
    header.remember_unread(request, page.unread)
    next_query = urlencode({"after": page.after}) if page.after else ""
    if wants_json(request):
        results = [sentences.to_json(shown) for shown in page.notifications]
        return json_response(
            {
                "results": results,
                "next": f"{request.path}?{next_query}" if next_query else None,
                "unread": page.unread,
                "seen": page.seen and page.seen.isoformat(),
            }
        )
    shown: dict[str, Any] = {
        "page": page,
        "days": _group_by_day(page.notifications),
        "address": request.path,
        "next_query": next_query,
        "is_first": not after,
        "until": page.seen and page.seen.isoformat(),
    }
    return render(request, "notifications/list.html", shown)


class Day(NamedTuple):
    """The notifications of a day."""

    title: str
    is_today: bool
    notifications: list[selectors.Shown]


def _group_by_day(notifications: Sequence[selectors.Shown]) -> list[Day]:
    """Return the days that have notifications."""
    today, days = localdate(clock.now()), dict[str, Day]()
    for shown in notifications:
        day = localdate(shown.time)
        if day >= today:
            title = _("Today")
        elif day == today - timedelta(days=1):
            title = _("Yesterday")
        else:
            title = date_format(day)
        days.setdefault(title, Day(title, day >= today, [])).notifications.append(shown)
    return list(days.values())


@require_safe
@personal_page
def open_notification(request: HttpRequest, pk: int) -> HttpResponse:
    """Mark a notification as read, and redirect to what it is about."""
    user_id = get_user_id(request)
    record = NotificationMirror.get(pk) if pk <= MAX_ID else None
    if record is None or record["user"] != user_id:
        raise Http404
    shown = selectors.show_records(user_id, [record])
    # Without SQL the page is shown all the same, and the notification stays unread.
    with suppress(*SQL_AWAY):
        services.mark_read(user_id, pk)
    return redirect_to(shown[0].detail.path) if shown else redirect_to_view("notifications:list")


@require_POST
@personal_page
def mark_read(request: HttpRequest) -> HttpResponse:
    """Mark the notifications up to the time ``until`` as read, which the page had. JSON gets their number."""
    until = _parse_time(request.POST.get("until", ""))
    if until is None:
        if wants_json(request):
            return json_error(_("Give the time up to which you have read: until=."), 400)
        return redirect_to_view("notifications:list")
    count = services.mark_all_read(get_user_id(request), until)
    if wants_json(request):
        return json_response({"marked": count})
    return redirect_to_view("notifications:list")


def _parse_time(text: str) -> Any:
    try:
        found = parse_datetime(text)
    except ValueError:
        return None
    return found if found is not None and is_aware(found) else None


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def settings_page(request: HttpRequest) -> HttpResponse:
    """Show and change how the reader gets the notifications of each kind."""
    user_id = get_user_id(request)
    form = WaysForm(request.POST or None, services.get_ways(user_id))
    if request.method == "POST" and form.is_valid():
        services.set_ways(user_id, form.get_ways())
        messages.success(request, _("Your notification settings were saved."))
        return redirect_to_view("notifications:settings")
    return render(
        request, "notifications/settings.html", {"form": form, "has_email": bool(getattr(request.user, "email", ""))}
    )


# Without a token of the site: mail programs send the request of RFC 8058. The link itself is signed.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for confirmation (GET), or send the reader of the link no more emails of its way (POST)."""
    subscription = read_token(token)
    shown: dict[str, Any] = {"is_valid": subscription is not None}
    if subscription is None:
        return render(request, "notifications/unsubscribe.html", shown, status=404)
    if request.method == "POST":
        services.unsubscribe(*subscription)
        shown["is_done"] = True
    descriptions = {
        Way.EMAIL: _("Diptych will no longer send you emails about new notifications."),
        Way.WEEKLY: _("Diptych will no longer send you weekly emails with notifications."),
    }
    shown["description"] = descriptions.get(subscription.way, "")
    return render(request, "notifications/unsubscribe.html", shown)
