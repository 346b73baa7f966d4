"""Expire, cancel and send orders. Each takes effect once."""

from collections.abc import Callable

from django.db import transaction

from accounts.audit import log as audit
from accounts.models import User
from config import clock
from mirror.commit import after_commit
from shop import holds, letters
from shop.models import EventKind, Order, State
from shop.money import money
from shop.services import payments, stock
from shop.services.errors import NotYours, TooLate
from shop.services.trace import locked, note


def expire(order_id: int) -> bool:
    """Expire an unpaid order after its time to pay, and release its copies. Return whether that was due."""
    with transaction.atomic():
        order = locked(order_id)
        if order.state != State.RESERVED or order.reserved_until > clock.now():
            return False
        Order.objects.filter(pk=order_id).update(state=State.EXPIRED)
        _free(stock.give_back, order)
        note(order_id, EventKind.EXPIRED)
    return True


def cancel(order_id: int, by: User) -> Order:
    """Cancel an order that was not sent: return its copies and refund its payment. Does nothing when repeated.

    Allowed for its customer and for staff who may change orders. Raises NotYours, also for a missing order, and
    TooLate.
    """
    with transaction.atomic():
        order = _of(order_id, by)
        if order.state == State.CANCELLED:
            return order
        if order.state not in (State.RESERVED, State.PAID):
            raise TooLate
        now = clock.now()
        Order.objects.filter(pk=order_id).update(state=State.CANCELLED, cancelled_at=now)
        _free(stock.give_back if order.state == State.RESERVED else stock.take_back, order)
        note(order_id, EventKind.CANCELLED, by=by)
        if order.user_id != by.pk:
            audit.note(audit.Kind.CANCELLED, order, money(order.total), actor=by)
        payments.give_back_money(order)
        if order.paid_at is not None:
            letters.tell_soon("cancelled", order_id)
    order.state, order.cancelled_at = State.CANCELLED, now
    return order


def send(order_id: int, by: User | None = None) -> Order:
    """Mark a paid order as sent. Does nothing when repeated. Raises NotYours for a missing order, and TooLate."""
    with transaction.atomic():
        order = _of(order_id, None)
        if order.state == State.SENT:
            return order
        if order.state != State.PAID:
            raise TooLate
        order.state, order.sent_at = State.SENT, clock.now()
        Order.objects.filter(pk=order_id).update(state=order.state, sent_at=order.sent_at)
        note(order_id, EventKind.SENT, by=by)
        letters.tell_soon("sent", order_id)
    return order


def _of(order_id: int, by: User | None) -> Order:
    try:
        order = locked(order_id)
    except Order.DoesNotExist:
        raise NotYours from None
    if by is not None and order.user_id != by.pk and not (by.is_staff and by.has_perm("shop.change_order")):
        raise NotYours
    return order


def _free(give: Callable[[stock.Lines], None], order: Order) -> None:
    lines = stock.lines_of(order.pk)
    give(lines)
    after_commit(holds.forget, list(lines))
