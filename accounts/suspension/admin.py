"""Suspended users in the admin. To delete a row is to lift the suspension."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import DELETION
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin_tools.base import BigTableAdmin
from accounts.admin_tools.staff import exclude_guarded, may_change_account
from accounts.models import Suspension
from accounts.suspension.services import lift_suspension


@admin.register(Suspension)
class SuspensionAdmin(BigTableAdmin):
    """Suspensions, which decisions about reports begin. Staff can end them before their time."""

    fields = readonly_fields = list_display = ["user", "began_at", "ends_at"]
    list_select_related = ["user"]
    search_fields = ["=user__username"]
    search_help_text = _("the exact name")
    actions = ["lift"]

    def has_change_permission(self, request: HttpRequest, obj: Suspension | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Suspension | None = None) -> bool:
        return super().has_delete_permission(request, obj) and may_change_account(request, obj.user if obj else None)

    def delete_model(self, request: HttpRequest, obj: Suspension) -> None:
        lift_suspension(obj.pk)

    @admin.action(description=_("Lift selected suspensions"), permissions=["delete"])
    def lift(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        found = self.chosen(request, exclude_guarded(request, rows, "user"))
        self.log(request, found, DELETION, "")
        count = sum(lift_suspension(row.pk) for row in found)
        self.done(request, ngettext("%(n)d suspension was lifted.", "%(n)d suspensions were lifted.", count), count)
