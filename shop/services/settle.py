"""Bringing to an end what pages and callbacks left open. Beat asks every few seconds; several at once do no harm.

Each thing is looked at again under its own lock before it is changed, and one that fails stops none of the others.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from time import monotonic
from typing import Final, NamedTuple, TypeVar

from django.conf import settings
from django.db.models import Exists, Model, OuterRef

from config import clock
from mirror.failure_log import FailureLog
from shop.models import Order, Payment, PaymentState
from shop.services import payments
from shop.services.confirming import confirm_left
from shop.services.orders import expire

failures = FailureLog(logging.getLogger("shop"))
T = TypeVar("T", bound=Model)
MOST: Final = 200  # of each kind, at a time
SOONEST, LATEST = timedelta(seconds=2), timedelta(minutes=10)  # between two questions about one payment


class Settled(NamedTuple):
    """How many payments were asked about, reservations ran out, refunds were asked for, letters were sent."""

    asked: int = 0
    expired: int = 0
    refunds: int = 0
    letters: int = 0


def settle() -> Settled:
    """One round. Questions come first: money that has just come saves its reservation."""
    return Settled(
        asked=_ask(_open(PaymentState.STARTED), payments.look_into),
        expired=_each(_run_out(clock.now()), _expire),
        refunds=_ask(_open(PaymentState.REFUND_DUE), payments.refund),
        letters=confirm_left(),
    )


def _open(state: PaymentState) -> list[Payment]:
    return list(Payment.objects.filter(state=state, ask_at__lte=clock.now()).order_by("ask_at")[:MOST])


def _run_out(now: datetime) -> list[Order]:
    """Those whose time is over; but who was asked for the money just before that is still to get an answer."""
    since = now - timedelta(seconds=settings.PAYMENT_TIMEOUT_SECONDS + payments.SLACK_SECONDS)
    asked = Payment.objects.filter(order=OuterRef("pk"), state=PaymentState.STARTED, created_at__gt=since)
    return list(Order.objects.run_out(now).exclude(Exists(asked)).order_by("reserved_until")[:MOST])


def _ask(found: list[Payment], do: Callable[[Payment], bool]) -> int:
    """Ask the provider about each, as long as there is time; the others come first in the next round."""
    count, began = 0, monotonic()
    for payment in found:
        if monotonic() - began > settings.SHOP_ROUND_SECONDS:
            break
        if _claim(payment):
            count += 1
            _each([payment], do)
    return count


def _claim(payment: Payment) -> bool:
    """Whether nobody else asks about it now. If it comes to nothing, it is asked again after a while, ever longer."""
    mine = Payment.objects.filter(pk=payment.pk, state=payment.state, ask_at=payment.ask_at)
    return bool(mine.update(ask_at=again(payment, clock.now())))


def again(payment: Payment, now: datetime) -> datetime:
    """When an open payment is asked about next."""
    return now + min(max((now - payment.created_at) / 4, SOONEST), LATEST)


def _expire(order: Order) -> bool:
    return expire(order.pk)


def _each(things: Sequence[T], do: Callable[[T], bool]) -> int:
    count = 0
    for thing in things:
        key = type(thing), thing.pk
        try:
            count += do(thing)
        except Exception as error:  # its own fault: the others go on
            failures.add(key, "%r could not be settled", thing, error=error)
        else:
            failures.end(key, "%r was settled", thing)
    return count
