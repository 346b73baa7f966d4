"""Expire, cancel and send orders. Each takes effect once."""

from collections.abc import Callable
from typing import Final

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.audit import log as audit
from accounts.models import User
from common import clock
from common.database import repeat_after_conflict
from common.text import fold_address
from mirror.utils import after_commit
from shop import emails, shortages
from shop.delivery.tracking import Tracking
from shop.models import EventKind, Order, OrderState
from shop.money import format_money
from shop.services import refunds, stock
from shop.services.errors import OrderNotFound, OrderStateRefused, RefundedMeanwhile
from shop.services.order_steps import lock_order, record_step
from shop.services.payments import REFUND_REASONS, ask_soon

NO_TRACKING: Final = Tracking()
# Why an order in a state is not sent, or not cancelled.
_NOT_SENDABLE: Final = {
    OrderState.RESERVED: _("it is not paid yet"),
    OrderState.CANCELLED: _("it was cancelled"),
    OrderState.EXPIRED: _("it was not paid in time"),
}
_NOT_CANCELLABLE: Final = {
    OrderState.SENT: _("it was sent: refund it instead"),
    OrderState.EXPIRED: _("it was not paid in time, and nothing is reserved"),
}


@repeat_after_conflict
def expire_order(order_id: int) -> bool:
    """Expire an unpaid order after its time to pay, and release its copies. Return whether that was due."""
    with transaction.atomic():
        order = lock_order(order_id)
        # Checked again under the lock, because a payment may have arrived since the order was listed.
        if order.state != OrderState.RESERVED or order.reserved_until > clock.now():
            return False
        Order.objects.filter(pk=order_id).update(state=OrderState.EXPIRED)
        _release_copies(stock.release_copies, order)
        ask_soon(order)
        record_step(order_id, EventKind.EXPIRED)
    return True


def cancel_order(order_id: int, by: User) -> Order:
    """Cancel an order that was not sent: return its copies and refund its payment. Does nothing when repeated.

    Allowed for its customer and for staff who may change orders. Raises OrderNotFound, also for other customers'
    orders, and OrderStateRefused.
    """
    return _cancel_order(order_id, by)


def cancel_guest_order(order_id: int) -> Order:
    """Cancel an order as ``cancel_order`` does, for the guest whose link was checked."""
    return _cancel_order(order_id, None)


def send_guest_link(order_id: int, email: str) -> None:
    """Email a guest the link to an order, if the order was placed with this address and no reader has claimed it."""
    order = Order.objects.filter(pk=order_id, user=None).first()
    if order is not None and order.is_of_guest and fold_address(order.email) == fold_address(email):
        emails.send_email_soon("link", order_id)


@repeat_after_conflict
def claim_order(order_id: int, user_id: int) -> bool:
    """Give a guest's order to a reader, whose link to it was checked. Return whether it was a guest's until now."""
    with transaction.atomic():
        order = _lock_order_for(None, order_id)
        if not order.is_of_guest:
            return False
        Order.objects.filter(pk=order_id).update(user_id=user_id)
    return True


@repeat_after_conflict
def _cancel_order(order_id: int, by: User | None) -> Order:
    with transaction.atomic():
        order = _lock_order_for(by, order_id)
        if order.state == OrderState.CANCELLED:
            return order
        if order.state not in (OrderState.RESERVED, OrderState.PAID):
            raise OrderStateRefused(_NOT_CANCELLABLE[OrderState(order.state)])
        now = clock.now()
        Order.objects.filter(pk=order_id).update(state=OrderState.CANCELLED, cancelled_at=now)
        _release_copies(stock.release_copies if order.state == OrderState.RESERVED else stock.return_sold_copies, order)
        ask_soon(order)
        record_step(order_id, EventKind.CANCELLED, by=by)
        if by is not None and order.user_id != by.pk:
            audit.record_event(audit.Kind.CANCELLED, order, format_money(order.total), actor=by)
        refunds.refund_rest(order, REFUND_REASONS[OrderState.CANCELLED])
        if order.paid_at is not None:
            emails.send_email_soon("cancelled", order_id)
    order.state, order.cancelled_at = OrderState.CANCELLED, now
    return order


@repeat_after_conflict
def mark_order_sent(
    order_id: int, by: User | None = None, tracking: Tracking = NO_TRACKING, shown_copies: int | None = None
) -> Order:
    """Mark a paid order as sent. Does nothing when repeated.

    shown_copies: those that were to be sent when the form was shown. Raises OrderNotFound, RefundedMeanwhile and
    OrderStateRefused, also for a sent order with another parcel than ``tracking``.
    """
    with transaction.atomic():
        order = _lock_order_for(None, order_id)
        if order.state == OrderState.SENT:
            if tracking not in (NO_TRACKING, (order.carrier, order.tracking_number)):
                raise OrderStateRefused(_("it was sent already: change the tracking instead"))
            return order
        if order.state != OrderState.PAID:
            raise OrderStateRefused(_NOT_SENDABLE[OrderState(order.state)])
        # The parcel may have copies that were refunded after its packing slip was printed.
        if shown_copies not in (None, stock.count_copies_to_send(order)):
            raise RefundedMeanwhile
        order.state, order.sent_at = OrderState.SENT, clock.now()
        order.carrier, order.tracking_number = tracking
        order.save(update_fields=["state", "sent_at", "carrier", "tracking_number"])
        record_step(order_id, EventKind.SENT, by=by, why=str(tracking))
        emails.send_email_soon("sent", order_id)
    return order


def _lock_order_for(by: User | None, order_id: int) -> Order:
    """Lock an order and return it. Raises OrderNotFound, also if ``by`` is neither its customer nor may change orders.

    by: None if the caller has checked the permission.
    """
    try:
        order = lock_order(order_id)
    except Order.DoesNotExist:
        raise OrderNotFound from None
    if by is None or order.user_id == by.pk:
        return order
    # Not found rather than forbidden, because the difference would tell which order numbers exist.
    if not (by.is_staff and by.has_perm("shop.change_order")):
        raise OrderNotFound
    return order


def _release_copies(give: Callable[[stock.Quantities], None], order: Order) -> None:
    lines = stock.get_order_quantities(order.pk)
    give(lines)
    # After the commit: a checkout in between would still find too few copies, and remember that again.
    after_commit(shortages.forget_stock, list(lines))
