"""Admin pages of the outbox and of the mirrors, which show data and run actions but edit nothing.

The actions are implemented elsewhere: ``mirror.outbox`` retries or discards quarantined changes, and a relay performs
jobs (``mirror.management.requested``).
"""

from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Max, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from mirror import registry, status
from mirror.admin import overview
from mirror.admin.mirror_page import MirrorPage, find_last_differences
from mirror.admin.read_only import ReadOnly, StatusAdmin
from mirror.admin.theme import display
from mirror.conf import setting
from mirror.management import requested, texts
from mirror.models import Change, Job, State
from mirror.outbox import changes
from mirror.relay import send

UNAPPLIED: Final = Q(applied_at__isnull=True, pk__gt=0)  # the condition of the index "mirror_change_in_order"


def retry_changes(page: ReadOnly, request: HttpRequest, rows: QuerySet[Change]) -> str:
    """Retry the quarantined changes among these rows. Return the message for staff, which the log has as well."""
    # Before the change, after which no row is quarantined.
    names = _find_quarantined_mirrors(rows)
    count = changes.retry(rows)
    # At once, because staff wait for the result.
    send.sweep()
    text = ngettext("%(count)s change will be retried.", "%(count)s changes will be retried.", count)
    return _log_for_mirrors(page, request, names, text % {"count": count})


def discard_changes(page: ReadOnly, request: HttpRequest, rows: QuerySet[Change]) -> str:
    """Discard the quarantined changes among these rows. Return the message for staff, which the log has as well."""
    names = _find_quarantined_mirrors(rows)
    count = changes.discard(rows)
    text = ngettext("%(count)s change was discarded.", "%(count)s changes were discarded.", count)
    return _log_for_mirrors(page, request, names, text % {"count": count})


def _find_quarantined_mirrors(rows: QuerySet[Change]) -> list[str]:
    quarantined = rows.filter(applied_at__isnull=True, quarantined_at__isnull=False)
    return list(quarantined.order_by().values_list("mirror", flat=True).distinct())


def _log_for_mirrors(page: ReadOnly, request: HttpRequest, names: list[str], text: str) -> str:
    """Write an entry of the admin's log for each of these mirrors."""
    for name in names:
        page.log_change(request, State(mirror=name), text)
    return text


class StatusFilter(admin.SimpleListFilter):
    """Filter changes by state. Without a choice, show the unapplied ones."""

    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [("pending", _("pending")), ("quarantined", _("quarantined")), ("applied", _("applied"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Change]) -> QuerySet[Change]:
        match self.value():
            case "pending":
                return queryset.filter(UNAPPLIED, quarantined_at__isnull=True)
            case "quarantined":
                return queryset.filter(UNAPPLIED, quarantined_at__isnull=False)
            case "applied":
                return queryset.filter(applied_at__isnull=False)
            case _:
                return queryset.filter(UNAPPLIED)


class MirrorFilter(admin.SimpleListFilter):
    """Filter changes by mirror. Django's own filter would read all rows for its choices."""

    title = _("mirror")
    parameter_name = "mirror"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [(mirror.name, registry.describe(mirror.name)) for mirror in registry.all_mirrors()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Change]) -> QuerySet[Change]:
        return queryset.filter(mirror=self.value()) if self.value() else queryset


@admin.register(Change)
class ChangeAdmin(ReadOnly):
    """The outbox: pending and quarantined changes."""

    list_display = ["id", "label", "source", "key", "created_at", "status", "attempts", "error"]
    list_filter = [StatusFilter, MirrorFilter]
    search_fields = ["=key"]
    search_help_text = _("the exact key")
    ordering = ["-id"]
    actions = ["retry", "discard"]

    @display(description=_("mirror"))
    def label(self, change: Change) -> str:
        """Return the name of the mirror for staff."""
        return registry.describe(change.mirror)

    @display(description=_("status"), label={"quarantined": "danger", "pending": "info", "applied": "success"})
    def status(self, change: Change) -> tuple[str, Any]:
        """Return the state of a change and its label."""
        if change.applied_at is not None:
            return "applied", _("applied")
        if change.quarantined_at is not None:
            return "quarantined", _("quarantined")
        return "pending", _("pending")

    @admin.action(description=_("Retry quarantined changes"), permissions=["act"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Change]) -> None:
        self.message_user(request, retry_changes(self, request, queryset))

    @admin.action(description=_("Discard quarantined changes (Redis stays as it is)"), permissions=["act"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Change]) -> None:
        self.message_user(request, discard_changes(self, request, queryset))


@admin.register(State)
class StateAdmin(StatusAdmin):
    """The mirrors with their status. The page of a mirror has its jobs and their results."""

    list_display = ["label", "warm", "pending", "oldest", "quarantined", "verified_at", "differences", "last_job"]
    list_display_links = ["label"]
    actions = ["verify", "check_repair", "rebuild"]
    column = "mirror"
    ordering = ["mirror"]
    texts = texts

    class Media:
        js = ["mirror/progress.js"]

    def find_names(self) -> list[str]:
        return [mirror.name for mirror in registry.all_mirrors()]

    def find_statuses(self) -> list[status.Status]:
        # Counts of rows would read whole tables.
        return status.statuses(count_rows=False)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the page of the list with the last job of each mirror, from one query."""
        changelist = super().get_changelist_instance(request)
        newest = Job.objects.using(setting("DATABASE")).order_by().values("mirror").annotate(Max("pk"))
        jobs = Job.objects.using(setting("DATABASE")).defer("findings")
        last = {job.mirror: job for job in jobs.filter(pk__in=newest.values("pk__max"))}
        for state in changelist.result_list:
            state.job = last.get(state.mirror)
        return changelist

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a mirror with its jobs, or start one of them (POST)."""
        name = unquote(object_id)
        found = next((one for one in self.find_statuses() if one.mirror == name), None)
        if found is None:
            raise Http404
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            self._start_job(request, State(mirror=name), request.POST.get("job", ""))
            return HttpResponseRedirect(request.path)
        context = {
            **self.admin_site.each_context(request),
            "title": capfirst(registry.describe(name)),
            "opts": self.opts,
            "media": self.media,
            "mirror": found,
            "state": texts.state(found),
            "page": MirrorPage(registry.get(name), self.admin_site, request.user),
            "may_act": self.has_act_permission(request),
            "quarantined_address": overview.link_to_changes(name, "quarantined"),
            "pending_address": overview.link_to_changes(name, "pending"),
        }
        return TemplateResponse(request, "mirror/admin/mirror.html", context)

    def _start_job(self, request: HttpRequest, state: State, what: str) -> None:
        """Request a job, or retry or discard the quarantined changes of a mirror. Write an entry of the admin's log."""
        # The page offers nothing else, so the request is a forged one.
        if not self.has_act_permission(request) or what not in (*Job.Kind.values, "retry", "discard"):
            raise PermissionDenied
        if what in ("retry", "discard"):
            quarantined = Change.objects.using(setting("DATABASE")).filter(mirror=state.mirror)
            act = retry_changes if what == "retry" else discard_changes
            self.message_user(request, act(self, request, quarantined))
            return
        label = capfirst(registry.describe(state.mirror))
        kind = Job.Kind(what)
        # Staff shall see the differences before a repair changes anything.
        if kind == Job.Kind.REPAIR and not find_last_differences(state.mirror):
            text = gettext("%(name)s: start a dry run first. A repair needs its differences.")
            self.message_user(request, text % {"name": label}, messages.ERROR)
        elif requested.request(state.mirror, kind) is None:
            text = gettext("%(name)s: the broker is not responding.")
            self.message_user(request, text % {"name": label}, messages.ERROR)
        else:
            self.log_change(request, state, gettext("Requested: %(job)s.") % {"job": kind.label})
            text = gettext("%(name)s: requested; the result will appear here.")
            self.message_user(request, text % {"name": label}, messages.SUCCESS)

    def _start_all(self, request: HttpRequest, queryset: QuerySet[State], kind: Job.Kind) -> None:
        for state in queryset:
            self._start_job(request, state, kind)

    @display(description=_("mirror"))
    def label(self, state: Any) -> str:
        """Return the name of a mirror for staff."""
        return capfirst(registry.describe(state.mirror))

    @display(description=_("pending"))
    def pending(self, state: Any) -> int:
        """Number of pending changes."""
        return int(state.status.pending)

    @display(description=_("oldest"))
    def oldest(self, state: Any) -> str:
        """Age of the oldest pending change."""
        return f"{state.status.oldest_pending_seconds:.1f} s"

    @display(description=_("quarantined"))
    def quarantined(self, state: Any) -> int:
        """Number of quarantined changes."""
        return int(state.status.quarantined)

    @display(description=_("last job"))
    def last_job(self, state: Any) -> str:
        """Return the progress or the result of the last job."""
        return render_to_string("mirror/admin/job.html", {"job": state.job}) if state.job else "–"

    @admin.action(description=_("Verify: compare Redis with SQL in both directions"), permissions=["act"])
    def verify(self, request: HttpRequest, queryset: QuerySet[State]) -> None:
        self._start_all(request, queryset, Job.Kind.VERIFY)

    @admin.action(description=_("Repair, dry run: list what a repair would change"), permissions=["act"])
    def check_repair(self, request: HttpRequest, queryset: QuerySet[State]) -> None:
        self._start_all(request, queryset, Job.Kind.CHECK)

    @admin.action(description=_("Rebuild from SQL (SQL answers all reads meanwhile)"), permissions=["act"])
    def rebuild(self, request: HttpRequest, queryset: QuerySet[State]) -> None:
        self._start_all(request, queryset, Job.Kind.REBUILD)
