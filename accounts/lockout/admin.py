"""Failed logins in the admin, with an action that ends lock-outs."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE
from django.db.models import Exists, F, Model, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import display

from accounts import lockout
from accounts.admin_tools.base import AuditedAdmin
from accounts.audit.log import log_rows
from accounts.lockout.models import FailedLogins
from accounts.models import User


class LockedFilter(admin.SimpleListFilter):
    """Filter by whether a counter is locked out now."""

    title = _("locked out")
    parameter_name = "locked"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [("yes", _("Yes")), ("no", _("No"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        locked = Q(count__gte=F("allowed"), ends_at__gt=timezone.now())
        return queryset.filter({"yes": locked, "no": ~locked}.get(self.value() or "", Q()))


@admin.register(FailedLogins)
class FailedLoginsAdmin(AuditedAdmin):
    """Counters of failed logins. Staff can remove them with "unlock", but not edit them."""

    list_display = ["kind", "name", "address", "count", "allowed", "ends_at", "locked"]
    list_display_links = None
    list_filter = [LockedFilter, "kind"]
    linked_lookups = ["name__in"]  # the counters of one user
    search_fields = ["name", "address"]
    ordering = ["-ends_at"]
    sortable_by = ["ends_at"]  # half of the names, and half of the addresses, are empty
    max_selected = 500
    actions = ["unlock"]

    @display(description=_("locked out"), boolean=True)
    def locked(self, row: FailedLogins) -> bool:
        return row.count >= row.allowed and row.ends_at > timezone.now()

    @admin.action(description=_("Reset selected counters, so that logins are possible again"), permissions=["unlock"])
    def unlock(self, request: HttpRequest, rows: QuerySet[FailedLogins]) -> None:
        chosen = self.chosen(request, _exclude_staff(request, rows))
        log_rows(request, chosen, CHANGE, str(_("Reset selected counters, so that logins are possible again")))
        count = lockout.unlock(keys=[row.pk for row in chosen])
        text = ngettext("%(n)d counter was reset.", "%(n)d counters were reset.", count)
        self.done(request, text, count)

    def has_unlock_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("accounts.delete_failedlogins"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        # A deletion would leave the counter in Redis. The action "unlock" removes both.
        return False


def _exclude_staff(request: HttpRequest, rows: QuerySet[FailedLogins]) -> QuerySet[FailedLogins]:
    """Return the counters that the request's user may reset: those of staff are for superusers.

    A counter of forms stores a digest of its subject, which may be a second factor of staff.
    """
    if request.user.is_superuser:
        return rows
    staff = User.objects.filter(Q(is_superuser=True) | Q(is_staff=True), name_key=OuterRef("name"))
    return rows.exclude(kind=FailedLogins.Kind.FORM).exclude(Exists(staff))
