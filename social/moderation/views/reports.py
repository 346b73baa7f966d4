"""The form with which a reader or a visitor reports something."""

from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.ratelimit import count_at_rates, get_client_address
from accounts.views import describe_wait, render_refusal
from common.text import fold_address
from common.web import get_viewer_id, json_response, redirect_to, wants_json
from social.moderation.forms import ReportForm
from social.moderation.models import Reason, Report
from social.moderation.services.reports import Reporter, report_target
from social.moderation.targets import Target, find_target

DAY_SECONDS: Final = 86_400


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def report(request: HttpRequest, kind: str, target: str) -> HttpResponse:
    """GET: show the form. POST ``reason``, ``details`` (``name``, ``email``, ``is_true``): report the target."""
    viewer = get_viewer_id(request)
    found = find_target(kind, target, viewer)
    if found is None:
        raise Http404
    if found.author is not None and found.author == viewer:
        return render_refusal(request, _("You cannot report yourself."), found.url, 403)
    form = ReportForm(request.POST if request.method == "POST" else None, is_reader=viewer is not None)
    if request.method != "POST":
        return _render_form(request, found, form)
    # Invalid forms count as well.
    seconds = _count_report(request, viewer, form.data.get("email", ""))
    if seconds and form.is_valid():
        form.add_error("details", _("That was too often. Try again in %(wait)s.") % {"wait": describe_wait(seconds)})
        response = _respond_invalid(request, found, form, 429)
        response.headers["Retry-After"] = str(seconds)
        return response
    if not form.is_valid():
        return _respond_invalid(request, found, form)
    given = form.cleaned_data
    reporter = Reporter(viewer, given.get("name", ""), given.get("email", ""))
    made = report_target(found, reporter, Reason(given["reason"]), given["details"])
    # Not after a double click, which sends the same.
    if (made.reason, made.details) != (given["reason"], given["details"]) and not wants_json(request):
        text = _("You have reported this already. This is your first report, which staff will read.")
        messages.warning(request, text)
    return _respond_reported(request, made)


def _count_report(request: HttpRequest, viewer: int | None, email: str) -> int:
    """Count a report. Return the seconds until the next one is allowed; 0 if this one is allowed."""
    if viewer is not None:
        return count_at_rates("report", viewer, settings.REPORT_RATES)
    wait = count_at_rates("report-address", get_client_address(request), settings.REPORT_RATES)
    # Also by the address of the email, which may be somebody else's.
    return wait or (count_at_rates("report-email", fold_address(email), settings.REPORT_RATES) if email else 0)


def _render_form(request: HttpRequest, target: Target, form: ReportForm, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {"target": target, "form": form}
    return render(request, "moderation/report.html", context, status=status)


def _respond_invalid(request: HttpRequest, target: Target, form: ReportForm, status: int = 400) -> HttpResponse:
    if wants_json(request):
        field, (message, *_others) = next(iter(form.errors.items()))
        return json_response({"error": {"field": field, "message": message}}, status)
    return _render_form(request, target, form, status)


def _respond_reported(request: HttpRequest, made: Report) -> HttpResponse:
    address = reverse("moderation:report_status", args=[made.key])
    if wants_json(request):
        return json_response({"number": made.pk, "url": address}, 201)
    return redirect_to(address)
