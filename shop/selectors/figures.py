"""Figures for staff: sales by day, and what needs their attention."""

import itertools
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime
from typing import Final, NamedTuple

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import TruncDate

from mirror.admin import count_rows
from shop.catalog_hooks.buy_box import MAX_FEW_COPIES
from shop.models import (
    Cart,
    Order,
    OrderLine,
    OrderState,
    Payment,
    PaymentState,
    Product,
    Refund,
    RefundLine,
    RefundState,
    Return,
)
from shop.models.returned import OPEN_RETURNS

MAX_TOP_BOOKS: Final = 10
KEPT_STATES: Final = (OrderState.PAID, OrderState.SENT)  # of orders that were paid and not cancelled


class SalesByDay(NamedTuple):
    """Sales by day. orders: paid ones that were not cancelled. income, kept_income, refunds: in cents.

    Each payment counts on the day on which it was made, and its refund on the day of the refund. kept_income is that of
    the orders that were not cancelled, less their refunds of any day.
    """

    orders: Mapping[date, int]
    income: Mapping[date, int]
    kept_income: Mapping[date, int]
    refunds: Mapping[date, int]


class TopBook(NamedTuple):
    """A book of which many copies were sold. pk: its id. copies, income: less refunds, in cents."""

    pk: int
    title: str
    copies: int
    income: int


class PaymentProblems(NamedTuple):
    """Numbers of payments. failed: in a period. open: without an answer of the provider."""

    failed: int
    open: int
    refunds: int


def read_sales_by_day(since: datetime) -> SalesByDay:
    """Return the sales since that moment, by day in the site's time zone."""
    is_kept = Q(state__in=KEPT_STATES)
    paid = Order.objects.filter(paid_at__gte=since).order_by()
    sold = list(
        paid.values_list(TruncDate("paid_at")).annotate(
            kept=Count("pk", filter=is_kept), income=Sum("total"), kept_income=Sum("total", filter=is_kept, default=0)
        )
    )
    made = Refund.objects.filter(state=RefundState.DONE, done_at__gte=since).order_by()
    refunds = made.values_list(TruncDate("done_at"), "payment__state").annotate(cents=Sum("amount"))
    # Payments that paid for nothing, such as late ones, never were income. A condition in SQL would make PostgreSQL
    # begin with all payments.
    refunded = {day: cents for day, state, cents in refunds if state == PaymentState.SUCCEEDED}
    # An order is refunded after it is paid, so these are all refunds of the orders above, and some of earlier days.
    ordered = TruncDate("payment__order__paid_at")
    of_orders = made.values_list(ordered, "payment__state", "payment__order__state").annotate(cents=Sum("amount"))
    returned = Counter[date]()
    for day, state, order_state, cents in of_orders:
        if state == PaymentState.SUCCEEDED and order_state in KEPT_STATES:
            returned[day] += cents
    return SalesByDay(
        orders={day: count for day, count, _, _ in sold},
        income={day: cents for day, _, cents, _ in sold},
        kept_income={day: cents - returned[day] for day, _, _, cents in sold},
        refunds=refunded,
    )


def find_top_books(since: datetime, until: datetime, limit: int = MAX_TOP_BOOKS) -> list[TopBook]:
    """Return the books of which most copies were sold by orders that were paid in this time and not cancelled.

    Copies that were refunded since then do not count.
    """
    lines = OrderLine.objects.filter(order__paid_at__gte=since, order__paid_at__lt=until, order__state__in=KEPT_STATES)
    sold = lines.order_by().values_list("product", "product__book__title")
    sums = sold.annotate(copies=Sum("quantity"), income=Sum(F("quantity") * F("price")))
    returned = _sum_refunds(since, until)
    # A refund only moves a book down: so many more books are enough to fill the places of refunded ones.
    found = []
    for book in itertools.starmap(TopBook, sums.order_by("-copies", "product")[: limit + len(returned)]):
        copies, cents = returned.get(book.pk, (0, 0))
        found.append(book._replace(copies=book.copies - copies, income=book.income - cents))
    found.sort(key=lambda book: (-book.copies, book.pk))
    return [book for book in found if book.copies > 0][:limit]


def _sum_refunds(since: datetime, until: datetime) -> dict[int, tuple[int, int]]:
    """Return the copies and the cents that were refunded of such orders, by product."""
    lines = RefundLine.objects.filter(
        refund__state=RefundState.DONE,
        line__order__paid_at__gte=since,
        line__order__paid_at__lt=until,
        line__order__state__in=KEPT_STATES,
    )
    sums = lines.order_by().values_list("line__product").annotate(Sum("quantity"), Sum("amount"))
    return {pk: (copies, cents) for pk, copies, cents in sums}


def count_carts() -> int:
    """Return the number of carts."""
    return count_rows(Cart.objects.all())


def read_spending(user_id: int) -> int:
    """Return what a reader paid for orders that were not cancelled, less refunds, in cents."""
    kept = Order.objects.filter(user=user_id, state__in=KEPT_STATES).aggregate(cents=Sum("total"))["cents"]
    paid = Payment.objects.filter(order__user=user_id, order__state__in=KEPT_STATES, state=PaymentState.SUCCEEDED)
    return int(kept or 0) - int(paid.aggregate(cents=Sum("refunded"))["cents"] or 0)


def count_orders_to_ship() -> int:
    """Return the number of paid orders that were not sent."""
    return count_rows(Order.objects.filter(state=OrderState.PAID))


def count_open_returns() -> tuple[int, int]:
    """Return the numbers of returns that wait for an answer, and of accepted ones that wait for the books."""
    rows = Return.objects.order_by()
    return tuple(count_rows(rows.filter(state=state)) for state in OPEN_RETURNS)  # type: ignore[return-value]


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
