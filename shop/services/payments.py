"""Receive payments, once per order, in any order of the provider's answers.

A payment is committed before the provider is called, so that each charge is known here. Answers arrive from the page
that called, from a callback or from ``shop.services.settle``. ``record`` treats them alike, and the first one changes
the order.
"""

import logging
import secrets
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_noop

from config import clock
from mirror.commit import after_commit
from shop.models import EventKind, Order, Payment, PaymentState, State
from shop.payments import Answer, Card, NoAnswer, Outcome, calls
from shop.services import confirming, stock
from shop.services.errors import NotPayable, TooManyTries
from shop.services.trace import locked, note

logger = logging.getLogger("shop")
SLACK_SECONDS: Final = 1.0  # after the time-out of a call, before another process asks for the outcome
TRIES_SECONDS: Final = 600
GIVEN_UP: Final = gettext_noop("the provider did not answer in time, and nothing was charged")
# The reason of a refund, by the state of the order when the money arrived.
NOT_WANTED: Final = {
    State.PAID: gettext_noop("the order was already paid"),
    State.SENT: gettext_noop("the order was already paid"),
    State.CANCELLED: gettext_noop("the order was cancelled"),
    State.EXPIRED: gettext_noop("the payment came too late, and not enough copies were left"),
}


def pay(order: Order, card: Card) -> Order:
    """Try to pay an order. Return the order: paid, or still reserved with the reason in its last payment.

    No new attempt is made while an earlier one may still succeed or while the provider does not answer. Raises
    NotPayable and TooManyTries.
    """
    payment = _begin(order.pk) if _knows_the_earlier(order) else None
    if payment is not None:
        try:
            answer = calls.charge(payment.key, payment.amount, card)
        except NoAnswer:
            logger.warning("Payment %s: the provider has not answered yet", payment.pk)
        else:
            record(payment.key, answer)
    return Order.objects.get(pk=order.pk)


def _knows_the_earlier(order: Order) -> bool:
    """Resolve an earlier attempt without an answer. Return False if the provider does not answer."""
    earlier = Payment.objects.filter(order=order, state=PaymentState.STARTED).first()
    return earlier is None or earlier.ask_at > clock.now() or look_into(earlier)


def look_into(payment: Payment) -> bool:
    """Ask the provider for the outcome of an abandoned charge. An unknown charge is forbidden for the future.

    Return False if the provider does not answer.
    """
    try:
        answer = calls.find(payment.key)
        if answer is None:
            answer = calls.give_up(payment.key)._replace(reason=GIVEN_UP)
    except NoAnswer:
        return False
    record(payment.key, answer)
    return True


def _begin(order_id: int) -> Payment | None:
    """Create and commit a payment. Return None if the order is paid or has an open payment."""
    now = clock.now()
    with transaction.atomic():
        order = locked(order_id)
        if order.state == State.PAID:
            return None
        if order.state != State.RESERVED or order.reserved_until <= now:
            raise NotPayable
        if Payment.objects.filter(order=order, state=PaymentState.STARTED).exists():
            return None
        _limit(order, now)
        key = secrets.token_hex(32)
        ask_at = now + timedelta(seconds=settings.PAYMENT_TIMEOUT_SECONDS + SLACK_SECONDS)
        payment = Payment.objects.create(order=order, key=key, amount=order.total, created_at=now, ask_at=ask_at)
        note(order.pk, EventKind.ASKED, payment=payment)
    return payment


def _limit(order: Order, now: datetime) -> None:
    """Limit failed and open attempts per user, so that nobody can test stolen card numbers. Successful payments do not
    count.
    """
    since = now - timedelta(seconds=TRIES_SECONDS)
    tries = Payment.objects.filter(order__user=order.user_id, created_at__gt=since)
    if tries.filter(state__in=(PaymentState.STARTED, PaymentState.FAILED)).count() >= settings.SHOP_PAYMENT_TRIES:
        raise TooManyTries


def record(key: str, answer: Answer) -> None:
    """Record the provider's answer about a charge. Safe to repeat, from any process and in any order."""
    if answer.outcome is Outcome.PENDING:
        Payment.objects.filter(key=key).update(updated_at=clock.now())
        return
    with transaction.atomic():
        order_id = Payment.objects.filter(key=key).values_list("order_id", flat=True).first()
        if order_id is None:
            logger.error("The provider speaks of a payment that is not known here")
            return
        order = locked(order_id)
        payment = Payment.objects.get(key=key)  # read after the lock, to see the changes of its previous holder
        if answer.outcome is Outcome.SUCCEEDED and payment.state in (PaymentState.STARTED, PaymentState.FAILED):
            _succeeded(order, payment, answer)
        elif answer.outcome is Outcome.FAILED and payment.state == PaymentState.STARTED:
            _set(payment, PaymentState.FAILED, reason=_text(answer.reason, 200))
            note(order_id, EventKind.REFUSED, payment=payment, why=_text(answer.reason, 200))


def _text(said: str, most: int) -> str:
    """Return the provider's text without NUL characters, which SQL cannot store, and cut to a length."""
    return said.replace("\0", "")[:most]


def _succeeded(order: Order, payment: Payment, answer: Answer) -> None:
    kind = _sell(order)
    if kind is None:
        _set(payment, PaymentState.REFUND_DUE, reference=_text(answer.reference, 100), reason="")
        note(order.pk, EventKind.REFUND_DUE, payment=payment, why=NOT_WANTED[State(order.state)])
        return
    _set(payment, PaymentState.SUCCEEDED, reference=_text(answer.reference, 100), reason="")
    _paid(order, kind, payment)


def _paid(order: Order, kind: EventKind, payment: Payment | None = None) -> None:
    order.state, order.paid_at = State.PAID, clock.now()
    Order.objects.filter(pk=order.pk).update(state=order.state, paid_at=order.paid_at)
    note(order.pk, kind, payment=payment)
    after_commit(confirming.soon, order.pk)


def sell_free(order: Order) -> None:
    """Sell an order that costs nothing, without the provider. Call it in the transaction that creates the order."""
    stock.sell(stock.lines_of(order.pk))
    _paid(order, EventKind.FREE)


def _sell(order: Order) -> EventKind | None:
    """Sell the copies of an order. Return None if they are not available or were sold before."""
    lines = stock.lines_of(order.pk)
    if order.state == State.RESERVED:
        stock.sell(lines)
        return EventKind.PAID
    if order.state == State.EXPIRED and stock.sell_anew(lines):
        return EventKind.PAID_LATE
    return None


def give_back_money(order: Order) -> None:
    """Mark the payment of a cancelled order for a refund. Call it in the transaction that has locked the order."""
    for payment in Payment.objects.filter(order=order, state=PaymentState.SUCCEEDED):
        _set(payment, PaymentState.REFUND_DUE)
        note(order.pk, EventKind.REFUND_DUE, payment=payment, why=NOT_WANTED[State.CANCELLED])


def refund(payment: Payment) -> bool:
    """Refund a payment. The provider does it once per key. Return False if the provider does not answer."""
    try:
        calls.refund(payment.key)
    except NoAnswer:
        return False
    with transaction.atomic():
        due = Payment.objects.filter(pk=payment.pk, state=PaymentState.REFUND_DUE)
        if due.update(state=PaymentState.REFUNDED, updated_at=clock.now()):
            note(payment.order_id, EventKind.REFUNDED, payment=payment)
    return True


def _set(payment: Payment, state: PaymentState, **values: str) -> None:
    now = clock.now()
    Payment.objects.filter(pk=payment.pk).update(state=state, updated_at=now, ask_at=now, **values)
