"""Notifications in the admin, read-only."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.admin_tools import BigTableAdmin
from accounts.notifications.models import Notification
from common.text import fold


@admin.register(Notification)
class NotificationAdmin(BigTableAdmin):
    """Notifications, newest first, with a search by the exact name of the reader."""

    list_display = ["user", "kind", "count", "last_at", "way", "is_unread", "mailed_at"]
    fields = readonly_fields = [*list_display, "target", "read_at"]
    list_select_related = ["user"]
    search_fields = ["pk"]  # the admin shows a search box only if this is not empty
    search_help_text = _("the exact name of the reader")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        wanted = search_term.strip()
        return (queryset.filter(user__name_key=fold(wanted)) if wanted else queryset), False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
