"""Pages of the login log, in HTML and (``Accept: application/json``) in JSON. Each is for its reader alone."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.audit.log import Kind, note
from config.answers import json, wants_json
from loginlog import export, mine, ranges, report
from loginlog.days import today
from loginlog.ranges import EARLIEST, BadQuery, Range

View = Callable[[HttpRequest], HttpResponse]
CSV: Final = {"activity": export.activity, "retention": export.retention}


REPORT: Final = "loginlog.view_report"


def _for(permission: str | None = None) -> Callable[[View], View]:
    """A page for those who are logged in, or for staff with a permission; kept by no cache.

    Strangers are led to the log-in page (JSON: 401), others are refused (403).
    """

    def decorate(view: View) -> View:
        @require_safe
        @never_cache
        @wraps(view)
        def guarded(request: HttpRequest) -> HttpResponse:
            if not request.user.is_authenticated:
                response = _error(_("Log in first."), 401) if wants_json(request) else _to_login(request)
            elif permission and not (request.user.is_staff and request.user.has_perm(permission)):
                raise PermissionDenied
            else:
                response = view(request)
            patch_vary_headers(response, ["Accept"])
            return response

        return guarded

    return decorate


@_for()
def calendar(request: HttpRequest) -> HttpResponse:
    """``?from=&to=``: my login days; without them this year's. The template gets ``calendar``, a ``mine.Calendar``."""
    now = today()
    try:
        shown = ranges.parse(request.GET, ranges.year(now.year), now)
    except BadQuery as error:
        return _refused(request, "loginlog/calendar.html", error, {})
    found = mine.calendar(int(request.user.pk or 0), shown, now)
    if wants_json(request):
        return json(found.as_json())
    return render(request, "loginlog/calendar.html", {"calendar": found, "asked": shown, **_years(shown, now.year)})


@_for(REPORT)
def staff_report(request: HttpRequest) -> HttpResponse:
    """``?from=&to=&by=week|month&reading=on|after&type=``; ``format=csv`` with ``table=activity|retention`` as a file.

    The template gets ``report``, a ``report.Report``.
    """
    try:
        asked = report.question(request.GET, today())
        answer_as = ranges.choose(request.GET, "format", ["", "csv"])
        table = ranges.choose(request.GET, "table", list(CSV))
    except BadQuery as error:
        return _refused(request, "loginlog/report.html", error, {})
    found = report.report(asked)
    if answer_as == "csv":
        name = f"logins-{table}-{asked.days.first}-{asked.days.last}.csv"
        note(Kind.EXPORT, name)
        return _file(CSV[table](found), name)
    if wants_json(request):
        return json(found.as_json())
    return render(request, "loginlog/report.html", {"report": found, "asked": asked.days})


def _years(shown: Range, this_year: int) -> dict[str, Range | None]:
    """The years before and after the one that is shown, where there are any."""
    before, after = shown.first.year - 1, shown.last.year + 1
    return {
        "before": ranges.year(before) if before >= EARLIEST.year else None,
        "after": ranges.year(after) if after <= this_year else None,
    }


def _refused(request: HttpRequest, template: str, error: BadQuery, context: dict[str, Any]) -> HttpResponse:
    if wants_json(request):
        return _error(str(error), 400)
    typed = {"first": request.GET.get("from", ""), "last": request.GET.get("to", "")}
    return render(request, template, {"error": error, "typed": typed, **context}, status=400)


def _error(message: str, status: int) -> HttpResponse:
    return json({"error": {"message": message}}, status)


def _to_login(request: HttpRequest) -> HttpResponse:
    return redirect_to_login(request.get_full_path())


def _file(text: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)
