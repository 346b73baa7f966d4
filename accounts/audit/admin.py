"""The audit log in the admin, which is read-only."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from accounts.admin_tools.base import BigTableAdmin
from accounts.audit.models import AuditEvent


@admin.register(AuditEvent)
class AuditEventAdmin(BigTableAdmin):
    """Security events and actions of staff, newest first."""

    list_display = ["at", "kind", "actor", "object", "address", "details"]
    list_filter = ["kind"]
    linked_lookups = ["actor__id__exact", "at__gte"]  # the actions of one user, and a figure of the home page
    list_select_related = ["actor"]
    search_fields = ["=actor__username", "object", "address", "details"]
    fields = readonly_fields = [*list_display, "model", "object_id"]

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
