"""Which copies of an order can be returned, and until when."""

from collections import Counter
from datetime import date, timedelta
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from common import clock
from shop.models import Order, OrderLine, OrderState, RefundLine, ReturnLine
from shop.models.returned import OPEN_RETURNS


class ReturnableLine(NamedTuple):
    """A line of an order, and its copies that can be returned."""

    line: OrderLine
    quantity: int


def get_last_day(order: Order) -> date | None:
    """Return the last day on which a return can begin, or None if the order was not sent.

    The days count from the arrival. It is unknown here, so the last promised day counts if that is later than the day
    on which the order was sent.
    """
    if order.state != OrderState.SENT or order.sent_at is None:
        return None
    arrived = max(timezone.localdate(order.sent_at), order.arrives_by or date.min)
    return arrived + timedelta(days=settings.RETURN_DAYS)


def is_returnable(order: Order) -> bool:
    """Return whether a return of the order can begin today."""
    last = get_last_day(order)
    return last is not None and timezone.localdate(clock.now()) <= last


def list_returnable_lines(order: Order) -> list[ReturnableLine]:
    """Return the lines with copies that are neither in an open return nor refunded. Three queries."""
    gone = Counter[int]()
    for pk, count in RefundLine.objects.filter(line__order=order).values_list("line", "quantity"):
        gone[pk] += count
    # Received ones are among the refunds; without a refund, as for free books, they are counted here.
    opened = ReturnLine.objects.filter(order_return__order=order)
    states = opened.values_list("line", "quantity", "order_return__state", "order_return__refund")
    for pk, count, state, refund in states:
        if state in OPEN_RETURNS or (state == "received" and refund is None):
            gone[pk] += count
    lines = [ReturnableLine(line, line.quantity - gone[line.pk]) for line in order.lines.order_by("pk")]
    return [each for each in lines if each.quantity > 0]
