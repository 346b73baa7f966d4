"""Pages of the login log, in HTML and (``Accept: application/json``) in JSON. No page is cached."""

from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.audit.log import Kind, record_event
from accounts.models import User
from common.text import fold
from common.web import get_user_id, json_error, json_response, personal_page, redirect_to_view, wants_json
from loginlog import selectors
from loginlog.days import today
from loginlog.reports import csv, parameters, staff
from loginlog.reports.analytics import ALL_TYPES
from loginlog.reports.calendar import build_calendar
from loginlog.reports.parameters import EARLIEST_DAY, BadQuery, Range

CSV_TABLES: Final = {"activity": csv.export_activity, "retention": csv.export_retention}


REPORT_PERMISSION: Final = "loginlog.view_report"
PAGE_SIZE: Final = 100  # users per page
MAX_CURSOR_DIGITS: Final = 18  # digits


@require_safe
@personal_page
def calendar(request: HttpRequest) -> HttpResponse:
    """Show the user's own login days (``?from=&to=``; default: this year).

    The template gets ``calendar``, a ``loginlog.reports.calendar.Calendar``.
    """
    return _show_calendar(request, get_user_id(request), {})


@require_safe
@personal_page(permission=REPORT_PERMISSION)
def user_calendar(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the login days of a user to staff (``?from=&to=``). The template also gets ``person``, a ``User``."""
    return _show_calendar(request, pk, {"person": get_object_or_404(User, pk=pk)})


def _show_calendar(request: HttpRequest, user_id: int, context: dict[str, Any]) -> HttpResponse:
    now = today()
    try:
        shown = parameters.parse_range(request.GET, parameters.year_range(now.year), now)
    except BadQuery as error:
        return _respond_invalid(request, "loginlog/calendar.html", error, context)
    found = build_calendar(user_id, shown, now)
    if wants_json(request):
        return json_response(found.as_json())
    context |= {"calendar": found, "asked": shown, **_find_neighbouring_years(shown, now.year)}
    return render(request, "loginlog/calendar.html", context)


@require_safe
@personal_page(permission=REPORT_PERMISSION)
def active_users(request: HttpRequest) -> HttpResponse:
    """List the users that logged in on one of these days, in pages (``?from=&to=&type=&after=``).

    ``?name=`` redirects to the calendar of the user with this name.
    """
    name = request.GET.get("name", "").strip()
    user = _find_user(name)
    if user is not None:
        return redirect_to_view("loginlog:user", user.pk)
    try:
        asked = staff.parse_query(request.GET, today())
        after = _parse_cursor(request.GET.get("after", ""))
    except BadQuery as error:
        return _respond_invalid(request, "loginlog/active.html", error, {})
    days = asked.days
    page = selectors.find_active_users(asked.user_type or None, days.first, days.last, after=after, size=PAGE_SIZE)
    first_url = f"{reverse('loginlog:active')}?{days.query}"
    if asked.user_type:
        first_url += f"&{urlencode({'type': asked.user_type})}"
    next_url = None if page.after is None else f"{first_url}&after={page.after}"
    if wants_json(request):
        users = [{"id": user.id, "name": user.name} for user in page.users]
        question = {"from": days.first, "to": days.last, "type": asked.user_type or None}
        return json_response({**question, "count": page.total, "users": users, "next": next_url})
    context = {
        "page": page,
        "asked": days,
        "chosen": asked.user_type,
        "types": [ALL_TYPES, *User.Type.values],
        "first": first_url if after >= 0 else None,  # None on the first page, which has no link to itself
        "older": next_url,
        # A user with this name would have been redirected to.
        "unknown": name,
    }
    return render(request, "loginlog/active.html", context)


def _find_user(name: str) -> User | None:
    if not name:
        return None
    return User.objects.filter(name_key=fold(name)).first()


def _parse_cursor(text: str) -> int:
    """Parse the cursor of a page; return -1 for the first page."""
    # isdecimal alone also accepts the digits of other scripts.
    is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_CURSOR_DIGITS
    return int(text) if is_number else -1


@require_safe
@personal_page(permission=REPORT_PERMISSION)
def staff_report(request: HttpRequest) -> HttpResponse:
    """Show the login report (``?from=&to=&by=week|month&reading=on|after&type=``).

    ``format=csv`` with ``table=activity|retention`` answers with a file. The template gets ``report``, a
    ``report.Report``.
    """
    try:
        asked = staff.parse_query(request.GET, today())
        answer_as = parameters.parse_choice(request.GET, "format", ["", "csv"])
        table = parameters.parse_choice(request.GET, "table", list(CSV_TABLES))
    except BadQuery as error:
        return _respond_invalid(request, "loginlog/report.html", error, {})
    found = staff.build_report(asked)
    if answer_as == "csv":
        name = f"logins-{table}-{asked.days.first}-{asked.days.last}.csv"
        record_event(Kind.EXPORT, name)
        return _csv_response(CSV_TABLES[table](found), name)
    if wants_json(request):
        return json_response(found.as_json())
    return render(request, "loginlog/report.html", {"report": found, "asked": asked.days})


def _find_neighbouring_years(shown: Range, this_year: int) -> dict[str, Range | None]:
    """Return the years before and after the shown range, None where no such year can be shown."""
    before, after = shown.first.year - 1, shown.last.year + 1
    return {
        "before": parameters.year_range(before) if before >= EARLIEST_DAY.year else None,
        "after": parameters.year_range(after) if after <= this_year else None,
    }


def _respond_invalid(request: HttpRequest, template: str, error: BadQuery, context: dict[str, Any]) -> HttpResponse:
    if wants_json(request):
        return json_error(str(error), 400)
    typed = {"first": request.GET.get("from", ""), "last": request.GET.get("to", "")}
    return render(request, template, {"error": error, "typed": typed, **context}, status=400)


def _csv_response(text: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)
