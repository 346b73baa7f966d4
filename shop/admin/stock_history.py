"""The stock history of a product: copies in orders, and changes by staff.

No table has it: orders and the admin's log are its facts, so it cannot contradict them.
"""

import itertools
from collections.abc import Iterator
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, NamedTuple

from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import unquote
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from shop.models import Order, OrderLine, OrderState, Product, RefundLine, ReturnLine
from shop.selectors.order_lines import annotate_refunds

MAX_ROWS: Final = 100  # newest lines of orders, and newest changes by staff


class StockEvent(NamedTuple):
    """A line of the history. change: the copies that entered or left the stock, None for a text alone."""

    at: datetime
    text: str
    change: int | None = None
    by: str = ""
    order: int | None = None


class StockHistoryAdmin(ModelAdmin):
    """Base of the admin of products, with the page of their stock history."""

    def get_urls(self) -> list[Any]:
        page = path(
            "<path:object_id>/stock/", self.admin_site.admin_view(self.show_stock_history), name="shop_product_stock"
        )
        return [page, *super().get_urls()]

    def show_stock_history(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the newest events of a product's stock, newest first."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        product = self.get_object(request, unquote(object_id))
        if product is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        kinds = (_find_order_events, _find_refund_events, _find_return_events, _find_staff_events)
        found = itertools.chain.from_iterable(find(product) for find in kinds)
        events = sorted(found, key=attrgetter("at"), reverse=True)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Stock history of %(title)s") % {"title": product},
            "opts": self.opts,
            "product": product,
            "events": events[:MAX_ROWS],
            "may_view_orders": request.user.has_perm("shop.view_order"),
        }
        return TemplateResponse(request, "shop/admin/stock_history.html", context)


def _find_order_events(product: Product) -> Iterator[StockEvent]:
    lines = OrderLine.objects.filter(product=product).select_related("order").order_by("-pk")
    for line in annotate_refunds(lines)[:MAX_ROWS]:
        order, copies = line.order, line.quantity
        if order.paid_at:
            yield StockEvent(order.paid_at, _("sold"), -copies, order=order.pk)
        if order.paid_at and order.state == OrderState.CANCELLED:
            yield StockEvent(_get_end(order), _("returned by a cancellation"), line.to_send, order=order.pk)
        if order.state == OrderState.RESERVED:
            text = _("%(count)d reserved") % {"count": copies}
            yield StockEvent(order.created_at, text, order=order.pk)


def _find_refund_events(product: Product) -> Iterator[StockEvent]:
    parts = RefundLine.objects.filter(line__product=product, is_unsent=True).order_by("-pk")[:MAX_ROWS]
    for at, copies, order in parts.values_list("refund__created_at", "quantity", "line__order"):
        yield StockEvent(at, _("refunded and not sent"), copies, order=order)


def _find_return_events(product: Product) -> Iterator[StockEvent]:
    parts = ReturnLine.objects.filter(line__product=product, order_return__is_restocked=True).order_by("-pk")[:MAX_ROWS]
    for at, copies, order in parts.values_list("order_return__received_at", "quantity", "order_return__order"):
        assert at is not None  # since the books were received
        yield StockEvent(at, _("returned books"), copies, order=order)


def _get_end(order: Order) -> datetime:
    return order.cancelled_at or order.created_at


def _find_staff_events(product: Product) -> Iterator[StockEvent]:
    kind = ContentType.objects.get_for_model(Product)
    entries = LogEntry.objects.filter(content_type=kind, object_id=str(product.pk))
    for entry in entries.select_related("user").order_by("-pk")[:MAX_ROWS]:
        yield StockEvent(entry.action_time, entry.get_change_message(), by=entry.user.username)
