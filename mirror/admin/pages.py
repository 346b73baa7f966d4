"""Admin pages of the outbox and of the mirrors, which show data and run actions but edit nothing.

The actions are implemented elsewhere: ``mirror.outbox`` retries or discards quarantined changes, and Celery tasks
verify and rebuild mirrors.
"""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from mirror import registry, status
from mirror.admin.read_only import ReadOnly, StatusAdmin
from mirror.admin.theme import display
from mirror.management import texts
from mirror.models import Change, State
from mirror.outbox import changes
from mirror.relay import send


class Standing(admin.SimpleListFilter):
    """Filter changes by state. Without a choice, show the unapplied ones."""

    title = _("status")
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [("pending", _("pending")), ("aside", _("quarantined")), ("applied", _("applied"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Change]) -> QuerySet[Change]:
        match self.value():
            case "pending":
                return queryset.filter(applied_at__isnull=True, quarantined_at__isnull=True)
            case "aside":
                return queryset.filter(applied_at__isnull=True, quarantined_at__isnull=False)
            case "applied":
                return queryset.filter(applied_at__isnull=False)
            case _:
                return queryset.filter(applied_at__isnull=True)


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

    list_display = ["id", "mirror", "source", "key", "created_at", "standing", "attempts", "error"]
    list_filter = [Standing, MirrorFilter]
    search_fields = ["=key"]
    search_help_text = _("the exact key")
    ordering = ["-id"]
    actions = ["retry", "discard"]

    @display(description=_("status"), label={"aside": "danger", "pending": "info", "applied": "success"})
    def standing(self, change: Change) -> tuple[str, Any]:
        """Return the state of a change and its label."""
        if change.applied_at is not None:
            return "applied", _("applied")
        return ("pending", _("pending")) if change.quarantined_at is None else ("aside", _("quarantined"))

    @admin.action(description=_("Retry quarantined changes"), permissions=["act"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Change]) -> None:
        count = changes.retry(queryset)
        send.sweep()
        text = ngettext("%(count)s change will be retried.", "%(count)s changes will be retried.", count)
        self.message_user(request, text % {"count": count}, messages.SUCCESS if count else messages.WARNING)

    @admin.action(description=_("Discard quarantined changes (Redis stays as it is)"), permissions=["act"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Change]) -> None:
        count = changes.discard(queryset)
        text = ngettext("%(count)s change was discarded.", "%(count)s changes were discarded.", count)
        self.message_user(request, text % {"count": count}, messages.SUCCESS if count else messages.WARNING)


@admin.register(State)
class StateAdmin(StatusAdmin):
    """The mirrors with their status and actions."""

    list_display = ["mirror", "warm", "pending", "oldest", "aside", "layout", "verified_at", "differences"]
    actions = ["verify", "rebuild"]
    column = "mirror"
    texts = texts

    def find_names(self) -> list[str]:
        return [mirror.name for mirror in registry.all_mirrors()]

    def find_statuses(self) -> list[status.Status]:
        return status.statuses(count_rows=False)

    @display(description=_("pending"))
    def pending(self, state: Any) -> int:
        """Number of pending changes."""
        return int(state.status.pending)

    @display(description=_("oldest"))
    def oldest(self, state: Any) -> str:
        """Age of the oldest pending change."""
        return f"{state.status.oldest_pending_seconds:.1f} s"

    @display(description=_("quarantined"))
    def aside(self, state: Any) -> int:
        """Number of quarantined changes."""
        return int(state.status.quarantined)

    @display(description=_("layout"))
    def layout(self, state: Any) -> str:
        """Version of the layout of keys and records."""
        return str(state.status.layout_version)

    @admin.action(description=_("Verify: compare Redis with SQL in both directions"), permissions=["act"])
    def verify(self, request: HttpRequest, queryset: QuerySet[State]) -> None:
        self.send_tasks(request, queryset, send.verify)

    @admin.action(description=_("Rebuild from SQL (SQL answers all reads meanwhile)"), permissions=["act"])
    def rebuild(self, request: HttpRequest, queryset: QuerySet[State]) -> None:
        self.send_tasks(request, queryset, lambda mirror: send.rebuild(mirror, if_cold=False))
