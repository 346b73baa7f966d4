"""Admin page of the backups: their status, and actions that are sent to Celery."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from mirror import send
from mirror.backup import epoch, registry, status
from mirror.management import backup_texts as texts
from mirror.models import BackupState
from mirror.read_only import ReadOnly


@admin.register(BackupState)
class BackupStateAdmin(ReadOnly):
    """The backups: data that is written to Redis first, and how much of it SQL lacks."""

    list_display = ["backup", "warm", "marked", "oldest", "aside", "error", "flushed_at", "verified_at", "differences"]
    list_display_links = None
    actions = ["flush", "verify", "restore"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[BackupState]:
        return super().get_queryset(request).filter(backup__in=[backup.name for backup in registry.all_backups()])

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list with a row for every backup, even if it was never flushed."""
        states = BackupState.objects.using(epoch.using())
        known = set(states.values_list("backup", flat=True))
        new = [BackupState(backup=backup.name) for backup in registry.all_backups() if backup.name not in known]
        if new:
            states.bulk_create(new, ignore_conflicts=True)
        return super().changelist_view(request, extra_context)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the page of the list with the status of each backup, fetched for all of them at once."""
        changelist: ChangeList = super().get_changelist_instance(request)
        statuses = {found.backup: found for found in status.statuses()}
        for state in changelist.result_list:
            state.status = statuses[state.backup]
        return changelist

    @display(description=_("state"), label={"warm": "success", "cold": "warning", "unknown": "danger"})
    def warm(self, state: Any) -> tuple[str, str]:
        """Whether everything is restored, and the progress if not."""
        warm = state.status.warm
        return "unknown" if warm is None else "warm" if warm else "cold", texts.state(state.status)

    @display(description=_("marked"))
    def marked(self, state: Any) -> str:
        """Number of items that SQL does not have yet."""
        return texts.count(state.status.marked)

    @display(description=_("oldest"))
    def oldest(self, state: Any) -> str:
        """Age of the oldest mark."""
        return texts.oldest(state.status)

    @display(description=_("quarantined"))
    def aside(self, state: Any) -> str:
        """Number of quarantined items."""
        return texts.count(state.status.set_aside)

    @display(description=_("error"))
    def error(self, state: Any) -> str:
        """Error of one quarantined item."""
        return next((f"{item}: {error}" for item, error in state.status.errors.items()), "")

    @admin.action(description=_("Flush: write marked and quarantined items to SQL"), permissions=["act"])
    def flush(self, request: HttpRequest, queryset: QuerySet[BackupState]) -> None:
        self._ask(request, queryset, send.flush_backup)

    @admin.action(description=_("Verify: compare Redis with SQL in both directions"), permissions=["act"])
    def verify(self, request: HttpRequest, queryset: QuerySet[BackupState]) -> None:
        self._ask(request, queryset, send.verify_backup)

    @admin.action(description=_("Restore: bring lost items back to Redis"), permissions=["act"])
    def restore(self, request: HttpRequest, queryset: QuerySet[BackupState]) -> None:
        self._ask(request, queryset, send.restore_backup)

    def _ask(self, request: HttpRequest, queryset: QuerySet[BackupState], ask: Callable[[str], bool]) -> None:
        """Send a task for each backup, and report whether the broker accepted it."""
        for state in queryset:
            if ask(state.backup):
                text = gettext("%(backup)s: requested; the result will appear here.") % {"backup": state.backup}
                self.message_user(request, text, messages.SUCCESS)
            else:
                text = gettext("%(backup)s: the broker is not responding.") % {"backup": state.backup}
                self.message_user(request, text, messages.ERROR)
