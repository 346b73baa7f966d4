"""Admin page of the backups: their status, and actions that are sent to Celery."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from mirror.admin.read_only import StatusAdmin
from mirror.admin.theme import display
from mirror.backup import registry, status
from mirror.management import backup_texts as texts
from mirror.models import BackupState
from mirror.relay import send


@admin.register(BackupState)
class BackupStateAdmin(StatusAdmin):
    """The backups: data that is written to Redis first, and how much of it SQL lacks."""

    list_display = ["label", "warm", "marked", "oldest", "aside", "error", "flushed_at", "verified_at", "differences"]
    actions = ["flush", "verify", "restore"]
    column = "backup"
    ordering = ["backup"]
    texts = texts

    def find_names(self) -> list[str]:
        return [backup.name for backup in registry.all_backups()]

    def find_statuses(self) -> list[status.BackupStatus]:
        return status.statuses()

    @display(description=_("backup"))
    def label(self, state: Any) -> str:
        """Return the name of a backup for staff."""
        return capfirst(registry.describe(state.backup))

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
        self.send_tasks(request, queryset, send.flush_backup)

    @admin.action(description=_("Verify: compare Redis with SQL in both directions"), permissions=["act"])
    def verify(self, request: HttpRequest, queryset: QuerySet[BackupState]) -> None:
        self.send_tasks(request, queryset, send.verify_backup)

    @admin.action(description=_("Restore: bring lost items back to Redis"), permissions=["act"])
    def restore(self, request: HttpRequest, queryset: QuerySet[BackupState]) -> None:
        self.send_tasks(request, queryset, send.restore_backup)
