"""What staff do with an order beside its states: notes, tracking, and another confirmation."""

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from common.database import repeat_after_conflict
from shop import emails
from shop.delivery.tracking import Tracking
from shop.models import EventKind, Order, OrderState
from shop.services.errors import OrderNotFound, OrderStateRefused
from shop.services.order_steps import lock_order, record_step


@repeat_after_conflict
def change_tracking(order_id: int, by: User, tracking: Tracking) -> None:
    """Correct the carrier and the number of a sent order. The buyer sees them on the page of the order.

    Raises OrderNotFound and OrderStateRefused.
    """
    with transaction.atomic():
        order = _lock(order_id)
        if order.state != OrderState.SENT:
            raise OrderStateRefused(_("it was not sent"))
        if tracking == (order.carrier, order.tracking_number):
            return
        order.carrier, order.tracking_number = tracking
        order.save(update_fields=["carrier", "tracking_number"])
        record_step(order_id, EventKind.TRACKED, by=by, why=str(tracking))


def resend_confirmation(order_id: int, by: User) -> None:
    """Let a worker send the confirmation of a paid order again. Raises OrderNotFound and OrderStateRefused."""
    # Without a lock: the worker reads the order again, and does not confirm one that was cancelled meanwhile.
    order = Order.objects.filter(pk=order_id).first()
    if order is None:
        raise OrderNotFound
    if order.state == OrderState.CANCELLED:
        raise OrderStateRefused(_("it was cancelled"))
    if order.paid_at is None:
        raise OrderStateRefused(_("it is not paid"))
    if not order.email:
        raise OrderStateRefused(_("it has no email address any more"))
    if emails.is_over_limit(order):
        raise OrderStateRefused(_("its address has had too many emails today"))
    _record_resent(order_id, by)


@repeat_after_conflict
def _record_resent(order_id: int, by: User) -> None:
    with transaction.atomic():
        record_step(order_id, EventKind.RESENT, by=by)
        emails.send_email_soon("confirmed", order_id)


@repeat_after_conflict
def add_note(order_id: int, by: User, text: str) -> None:
    """Add a note for staff to the history of an order. Raises OrderNotFound."""
    with transaction.atomic():
        _lock(order_id)
        record_step(order_id, EventKind.NOTE, by=by, why=text)


def _lock(order_id: int) -> Order:
    try:
        return lock_order(order_id)
    except Order.DoesNotExist:
        raise OrderNotFound from None
