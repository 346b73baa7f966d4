"""Notifications in the admin, read-only."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin_tools import BigTableAdmin
from accounts.notifications.kinds import find_kind
from accounts.notifications.models import Notification
from common.text import fold


@admin.register(Notification)
class NotificationAdmin(BigTableAdmin):
    """Notifications, newest first, with a search by the exact name of the reader."""

    list_display = ["user", "kind_label", "count", "last_at", "way", "unread", "mailed_at"]
    fields = readonly_fields = [*list_display, "target", "read_at"]
    list_select_related = ["user"]
    search_fields = ["pk"]  # the admin shows a search box only if this is not empty
    search_help_text = _("the exact name of the reader")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        wanted = search_term.strip()
        return (queryset.filter(user__name_key=fold(wanted)) if wanted else queryset), False

    @display(description=_("kind"))
    def kind_label(self, row: Notification) -> str:
        # A kind of an application that was removed has no label.
        kind = find_kind(row.kind)
        return str(kind.label) if kind else row.kind

    @display(description=_("unread"), boolean=True)
    def unread(self, row: Notification) -> bool:
        return bool(row.is_unread)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
