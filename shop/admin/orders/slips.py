"""Packing slips: a printed page for each parcel, in the language of its buyer."""

from typing import Any, Final

from django.conf import settings
from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from shop.admin.orders.steps import SelectedOrders
from shop.models import Order, OrderLine, OrderState
from shop.selectors.order_lines import annotate_refunds
from shop.seller import get_seller

PACKED: Final = (OrderState.PAID, OrderState.SENT)
_SENT_LINES: Final = Prefetch("lines", annotate_refunds(OrderLine.objects.all()).filter(to_send__gt=0))


class PackingSlips(SelectedOrders):
    """The action that shows the packing slips of selected orders."""

    @admin.action(description=_("Packing slips of selected orders"), permissions=["change"])
    def packing_slips(self, request: HttpRequest, rows: QuerySet[Order]) -> HttpResponse | None:
        """Show a page with the slips. Orders that are not paid, or cancelled, have none."""
        orders = self.chosen(request, rows.filter(state__in=PACKED).prefetch_related(_SENT_LINES))
        if not orders:
            return None
        return TemplateResponse(request, "shop/admin/packing_slips.html", {"slips": [_render(each) for each in orders]})


def _render(order: Order) -> SafeString:
    language = order.language or settings.LANGUAGE_CODE
    with override(language):
        lines: list[Any] = sorted(order.lines.all(), key=lambda line: line.pk)
        context = {
            "order": order,
            "lines": lines,
            "copies": sum(line.to_send for line in lines),
            "language": language,
            "seller": get_seller(),
            "return_days": settings.RETURN_DAYS,
        }
        return render_to_string("shop/admin/_packing_slip.html", context)
