"""Figures for staff: sales by day, and what needs their attention."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import NamedTuple

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import TruncDate

from mirror.admin import count_rows
from shop.catalog_hooks.buy_box import MAX_FEW_COPIES
from shop.models import Order, OrderState, Payment, PaymentState, Product


class SalesByDay(NamedTuple):
    """Paid orders that were not cancelled, by the day of their payment. revenue: in cents."""

    orders: Mapping[date, int]
    revenue: Mapping[date, int]


class PaymentProblems(NamedTuple):
    """Numbers of payments. failed: in a period. open: without an answer of the provider."""

    failed: int
    open: int
    refunds: int


def read_sales_by_day(since: datetime) -> SalesByDay:
    """Return the sales since that moment, by day in the site's time zone."""
    paid = Order.objects.filter(paid_at__gte=since, state__in=(OrderState.PAID, OrderState.SENT)).order_by()
    rows = paid.values_list(TruncDate("paid_at")).annotate(Count("pk"), Sum("total"))
    found = list(rows)
    return SalesByDay({day: count for day, count, _ in found}, {day: cents for day, _, cents in found})


def count_orders_to_ship() -> int:
    """Return the number of paid orders that were not sent."""
    return count_rows(Order.objects.filter(state=OrderState.PAID))


def count_payment_problems(since: datetime) -> PaymentProblems:
    """Return the numbers of failed (since that moment), open and due payments."""
    rows = Payment.objects.all()
    return PaymentProblems(
        count_rows(rows.filter(state=PaymentState.FAILED, updated_at__gte=since)),
        count_rows(rows.filter(state=PaymentState.STARTED)),
        count_rows(rows.filter(state=PaymentState.REFUND_DUE)),
    )


def count_low_stock() -> tuple[int, int]:
    """Return the numbers of products for sale with a few copies left, and with none."""
    few = Q(stock__gt=F("reserved"), stock__lte=F("reserved") + MAX_FEW_COPIES)
    rows = Product.objects.filter(is_active=True)
    found = rows.aggregate(few=Count("pk", filter=few), none=Count("pk", filter=Q(stock__lte=F("reserved"))))
    return found["few"], found["none"]
