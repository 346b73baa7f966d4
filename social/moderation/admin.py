"""The queue of cases and of appeals in the admin. The page of a row has everything that staff need to decide it."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Model, QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin_tools import BigTableAdmin, RelatedRows, count_related, link_to_list, register_related_rows
from accounts.models import User
from common.refusals import Refused
from common.web import redirect_to
from mirror.admin import count_rows
from social.moderation.case_page import CasePage, count_sanctions, describe_target
from social.moderation.models import Action, Appeal, Case, Kind, Outcome, Reason, Report, Severity
from social.moderation.services.appeals import decide_appeal, may_decide_appeal
from social.moderation.services.decisions import decide_case, list_actions
from social.moderation.staff_forms import AppealDecisionForm, DecisionForm

SEVERITY_LABELS = {Severity.LOW: "info", Severity.MEDIUM: "warning", Severity.HIGH: "danger"}


class StateFilter(admin.SimpleListFilter):
    """Open rows, unless decided ones are chosen. column: the time of the decision."""

    title = _("state")
    parameter_name = "state"
    column = "closed_at"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [("decided", _("decided"))]

    def choices(self, changelist: Any) -> Any:
        """Yield the choices. The first one, which Django calls "all", is that of open rows."""
        for number, choice in enumerate(super().choices(changelist)):
            yield choice if number else choice | {"display": _("open")}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{f"{self.column}__isnull": self.value() != "decided"})


class AppealStateFilter(StateFilter):
    """Open appeals, unless decided ones are chosen."""

    column = "decided_at"


class KindFilter(admin.SimpleListFilter):
    """Cases about one kind of target."""

    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return list(Kind.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Case]) -> QuerySet[Case]:
        return queryset.filter(kind=self.value()) if self.value() in Kind.values else queryset


class QueueAdmin(BigTableAdmin):
    """A queue: its rows are neither edited nor deleted, but decided on their page."""

    template: str

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a row, or decide it (POST)."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        is_post = request.method == "POST"
        if not (self.has_change_permission(request) if is_post else self.has_view_permission(request)):
            raise PermissionDenied
        form = self.make_form(request, row)
        if is_post and form.is_valid():
            return self._decide(request, row, form)
        context = {
            **self.admin_site.each_context(request),
            "title": str(row),
            "opts": self.opts,
            "form": form,
            "back": self._get_list_path(),
            **self.make_context(request, row),
        }
        return TemplateResponse(request, self.template, context)

    def _decide(self, request: HttpRequest, row: Model, form: Form) -> HttpResponse:
        try:
            text = self.decide(request, row, form)
        except Refused as error:
            self.message_user(request, str(error), messages.ERROR)
            return redirect_to(request.path)
        self.log(request, [row], CHANGE, text)
        self.message_user(request, text, messages.SUCCESS)
        return redirect_to(self._get_list_path())

    def _get_list_path(self) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    def make_form(self, request: HttpRequest, row: Any) -> Form:
        """Return the form for a decision."""
        raise NotImplementedError

    def make_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return further values of the template."""
        raise NotImplementedError

    def decide(self, request: HttpRequest, row: Any, form: Any) -> str:
        """Decide a row. Return the message for staff, which the log has as well. Raises a subclass of Refused."""
        raise NotImplementedError


@admin.register(Case)
class CaseAdmin(QueueAdmin):
    """The reports by target, the most urgent and oldest first."""

    template = "moderation/admin/case.html"
    list_display = ["what", "kind", "report_count", "reasons", "severity_label", "opened_at", "closed_at"]
    list_display_links = ["what"]
    list_filter = [StateFilter, KindFilter]
    linked_lookups = ["author__id__exact"]
    list_select_related = ["author"]

    def get_ordering(self, request: HttpRequest) -> list[str]:
        """Sort open cases by urgency, and decided ones by number."""
        is_decided = request.GET.get(StateFilter.parameter_name) == "decided"
        return ["-pk"] if is_decided else ["-severity", "opened_at"]

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the page of the list, with the numbers of reports by reason of all its cases from one query."""
        changelist: ChangeList = super().get_changelist_instance(request)
        rows = list(changelist.result_list)
        reports = Report.objects.filter(case__in=[row.pk for row in rows]).order_by()
        counts: dict[int, dict[str, int]] = {}
        for case, reason, count in reports.values_list("case", "reason").annotate(Count("pk")):
            counts.setdefault(case, {})[reason] = count
        for row in rows:
            row.reports_by_reason = counts.get(row.pk, {})
        changelist.result_list = rows
        return changelist

    def make_form(self, request: HttpRequest, row: Case) -> DecisionForm:
        return DecisionForm(request.POST or None, kind=row.kind)

    def make_context(self, request: HttpRequest, row: Case) -> dict[str, Any]:
        page = CasePage(row)
        may_decide = row.closed_at is None and self.has_change_permission(request)
        actions = list_actions(row, request.user) if may_decide else []  # type: ignore[arg-type]
        if page.is_missing:
            actions = [action for action in actions if action not in (Action.HIDE, Action.DELETE)]
        return {"page": page, "actions": actions, "sanctions": count_sanctions(row), "may_decide": may_decide}

    def decide(self, request: HttpRequest, row: Case, form: DecisionForm) -> str:
        made = decide_case(row.pk, form.make_ruling(), by=request.user)  # type: ignore[arg-type]
        return gettext("Decided: %(action)s.") % {"action": made.get_action_display()}

    @display(description=_("target"))
    def what(self, case: Case) -> str:
        return describe_target(case)

    @display(description=_("reports"))
    def report_count(self, case: Case) -> int:
        return sum(case.reports_by_reason.values())  # type: ignore[attr-defined]

    @display(description=_("reasons"))
    def reasons(self, case: Case) -> str:
        found: dict[str, int] = case.reports_by_reason  # type: ignore[attr-defined]
        return ", ".join(str(reason.label) for reason in Reason if reason in found)

    @display(description=_("severity"), label=SEVERITY_LABELS)
    def severity_label(self, case: Case) -> tuple[int, str]:
        return case.severity, case.get_severity_display()


@admin.register(Appeal)
class AppealAdmin(QueueAdmin):
    """Appeals, the oldest first."""

    template = "moderation/admin/appeal.html"
    list_display = ["what", "appellant", "made_at", "outcome", "decided_at"]
    list_display_links = ["what"]
    list_filter = [AppealStateFilter]
    list_select_related = ["decision__case__author"]

    def get_ordering(self, request: HttpRequest) -> list[str]:
        """Sort open appeals by age, and decided ones by number."""
        is_decided = request.GET.get(AppealStateFilter.parameter_name) == "decided"
        return ["-pk"] if is_decided else ["made_at"]

    def make_form(self, request: HttpRequest, row: Appeal) -> AppealDecisionForm:
        return AppealDecisionForm(request.POST or None)

    def make_context(self, request: HttpRequest, row: Appeal) -> dict[str, Any]:
        may_decide = row.decided_at is None and may_decide_appeal(row, request.user)  # type: ignore[arg-type]
        outcomes = list(Outcome) if may_decide else []
        return {"appeal": row, "page": CasePage(row.decision.case), "outcomes": outcomes}

    def decide(self, request: HttpRequest, row: Appeal, form: AppealDecisionForm) -> str:
        given = form.cleaned_data
        made = decide_appeal(row.pk, Outcome(given["outcome"]), given["answer"], by=request.user)  # type: ignore[arg-type]
        return gettext("Decided: %(action)s.") % {"action": made.get_outcome_display()}

    @display(description=_("decision"))
    def what(self, appeal: Appeal) -> str:
        return f"{describe_target(appeal.decision.case)}: {appeal.decision.get_action_display()}"

    @display(description=_("appeal by"))
    def appellant(self, appeal: Appeal) -> str:
        return gettext("author") if appeal.report_id is None else gettext("reporter")


def _find_cases(author: int, *, is_open: bool) -> QuerySet[Case]:
    return Case.objects.filter(author=author, closed_at__isnull=is_open)


register_related_rows(
    User,
    count_related(_("open cases"), lambda pk: _find_cases(pk, is_open=True), "author__id__exact"),
    RelatedRows(
        _("decided cases"),
        Case,
        lambda user: link_to_list(Case, author__id__exact=user.pk, state="decided"),
        lambda user: count_rows(_find_cases(user.pk, is_open=False)),
    ),
)
