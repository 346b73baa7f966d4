"""Admin pages for rows that only the shop itself writes, and for those that belong to an order."""

from typing import Any

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin_tools import BigTableAdmin, link_to_rows
from common.ids import parse_id
from shop.models import Order


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


class LinkedToOrder:
    """Rows of an order, with a link to it."""

    @display(description=_("order"))
    def order_number(self, row: Any) -> SafeString:
        address = reverse("admin:shop_order_change", args=[row.order_id])
        return link_to_rows(Order, address, f"#{row.order_id}")


class FoundByOrder(LinkedToOrder):
    """The same, found by the number of the order, or by an exact text."""

    def find_exactly(self, rows: QuerySet[Any], text: str) -> QuerySet[Any]:
        """Return the rows with this text."""
        raise NotImplementedError

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        if (order := parse_id(term.removeprefix("#"))) is not None:
            return queryset.filter(order=order), False
        return self.find_exactly(queryset, term), False
