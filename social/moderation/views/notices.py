"""The pages that reporters and authors read: reports with their results, decisions with their reasons, and appeals.

The address of a report or of a decision contains a random key. If its reader can log in, the key is not enough. It is
for visitors without an account, and for authors whose account is suspended, to be deleted or deleted.
"""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.ratelimit import count_at_rates
from accounts.views import render_refusal, render_too_often
from common.refusals import Refused
from common.web import get_user_id, get_viewer_id, personal_page, redirect_to, require_login
from social.moderation.forms import AppealForm
from social.moderation.models import Action, Decision, Report
from social.moderation.selectors import (
    find_decision,
    find_last_decision,
    find_report,
    list_decisions_about,
    list_reports_of,
)
from social.moderation.services.appeals import appeal_decision, get_last_day, may_appeal


@require_safe
@personal_page
def own_notices(request: HttpRequest) -> HttpResponse:
    """List the reader's reports, and the decisions about the reader."""
    me = get_user_id(request)
    context = {"reports": list_reports_of(me), "decisions": list_decisions_about(me), "dismiss": Action.DISMISS}
    return render(request, "moderation/notices.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def report_status(request: HttpRequest, key: str) -> HttpResponse:
    """GET: show a report and its result. POST ``details``: appeal against the result."""
    report = find_report(key)
    if report is None:
        raise Http404
    if report.reporter_id is not None and (refusal := _refuse_others(request, report.reporter_id)):
        return refusal
    decision = find_last_decision(report.case)
    context = {"report": report, "decision": decision, "dismiss": Action.DISMISS}
    return _respond(request, "moderation/report_status.html", context, decision, report)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def decision(request: HttpRequest, key: str) -> HttpResponse:
    """GET: show a decision with its reasons to the author. POST ``details``: appeal against it."""
    found = find_decision(key)
    if found is None:
        raise Http404
    author = found.case.author
    if author is not None and author.is_active and (refusal := _refuse_others(request, author.pk)):
        return refusal
    reports = found.case.reports.order_by("pk")
    context = {
        "decision": found,
        "copy": reports.values_list("copy", flat=True).last(),
        # Reports by the member of staff who decided are none: the site acted by itself.
        "is_reported": found.staff_id is None or reports.exclude(reporter=found.staff_id).exists(),
    }
    return _respond(request, "moderation/decision.html", context, found, None)


def _refuse_others(request: HttpRequest, owner: int) -> HttpResponse | None:
    """Return the login page for visitors without a login, and None for the owner. Raises Http404 for others."""
    viewer = get_viewer_id(request)
    if viewer is None:
        return require_login(request)
    if viewer != owner:
        raise Http404
    return None


def _respond(
    request: HttpRequest, template: str, context: dict[str, Any], decision: Decision | None, report: Report | None
) -> HttpResponse:
    """Show the page with the appeal or its form (GET), or make the appeal (POST). report: the visitor's, if any."""
    form = AppealForm(request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST" and decision is not None:
        wait = count_at_rates("appeal", request.path, settings.REPORT_RATES)
        if wait:
            return render_too_often(request, wait, request.path)
        if form.is_valid():
            return _make_appeal(request, decision, form.cleaned_data["details"], report)
        status = 400
    context |= {"form": form, "can_appeal": False, "days": settings.APPEAL_DAYS}
    if decision is not None:
        # It only decides whether the form is shown. The service checks it again.
        context["can_appeal"] = may_appeal(decision, report)
        context["appeal"] = decision.appeals.filter(report=report).first()
        context["last_day"] = get_last_day(decision)
    return render(request, template, context, status=status)


def _make_appeal(request: HttpRequest, decision: Decision, text: str, report: Report | None) -> HttpResponse:
    try:
        appeal_decision(decision, text, report)
    except Refused as error:
        return render_refusal(request, str(error), request.path, 409)
    messages.success(request, _("We got your appeal. A member of staff will decide it."))
    return redirect_to(request.path)
