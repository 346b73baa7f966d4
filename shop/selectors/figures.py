"""Figures for staff: sales by day, and what needs their attention."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import NamedTuple

from django.db.models import Count, Q, Sum
from django.db.models.functions import TruncDate

from mirror.admin import count_rows
from shop.catalog_hooks.buy_box import MAX_FEW_COPIES
from shop.models import Order, OrderState, Payment, PaymentState, Product, Refund, RefundState


class SalesByDay(NamedTuple):
    """Sales by day. orders: paid ones that were not cancelled. income, refunds: in cents.

    Each payment counts on the day on which it was made, and its refund on the day of the refund.
    """

    orders: Mapping[date, int]
    income: Mapping[date, int]
    refunds: Mapping[date, int]


class PaymentProblems(NamedTuple):
    """Numbers of payments. failed: in a period. open: without an answer of the provider."""

    failed: int
    open: int
    refunds: int


def read_sales_by_day(since: datetime) -> SalesByDay:
    """Return the sales since that moment, by day in the site's time zone."""
    kept = Count("pk", filter=Q(state__in=(OrderState.PAID, OrderState.SENT)))
    paid = Order.objects.filter(paid_at__gte=since).order_by()
    sold = list(paid.values_list(TruncDate("paid_at")).annotate(kept=kept, income=Sum("total")))
    # Payments that paid for nothing, such as late ones, never were income.
    made = Refund.objects.filter(state=RefundState.DONE, done_at__gte=since, payment__state=PaymentState.SUCCEEDED)
    refunded = dict(made.order_by().values_list(TruncDate("done_at")).annotate(Sum("amount")))
    return SalesByDay({day: count for day, count, _ in sold}, {day: cents for day, _, cents in sold}, refunded)


def count_orders_to_ship() -> int:
    """Return the number of paid orders that were not sent."""
    return count_rows(Order.objects.filter(state=OrderState.PAID))


def count_payment_problems(since: datetime) -> PaymentProblems:
    """Return the numbers of failed (since that moment), open and due payments."""
    rows = Payment.objects.all()
    return PaymentProblems(
        count_rows(rows.filter(state=PaymentState.FAILED, updated_at__gte=since)),
        count_rows(rows.filter(state=PaymentState.STARTED)),
        count_rows(rows.filter(refund_due__gt=0)),
    )


def count_low_stock() -> tuple[int, int]:
    """Return the numbers of products for sale with a few copies left, and with none."""
    rows = Product.objects.for_sale()
    return count_rows(rows.with_copies(least=1, most=MAX_FEW_COPIES)), count_rows(rows.with_copies(most=0))
