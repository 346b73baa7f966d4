"""Admin pages for rows that only the shop itself writes."""

from django.db.models import Model
from django.http import HttpRequest

from accounts.admin_tools import BigTableAdmin


class LedgerAdmin(BigTableAdmin):
    """Rows that only the shop adds and that cannot be deleted."""

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnlyAdmin(LedgerAdmin):
    """Rows that staff can only view."""

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class WithPermissionsOfOrders:
    """Rows to which the permissions of orders apply."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.has_perm("shop.view_order") or request.user.has_perm("shop.change_order"))

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.has_perm("shop.change_order"))
