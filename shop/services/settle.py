"""Complete open payments, reservations, refunds and emails. Beat starts it every few seconds; concurrent runs are safe.

Each object is checked again under its own lock before it is changed. A failure does not affect the others.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from time import monotonic
from typing import Final, NamedTuple, TypeVar

from django.conf import settings
from django.db.models import Exists, Model, OuterRef

from common import clock
from mirror.utils import FailureLog
from shop.models import Order, Payment, PaymentState
from shop.services import payments
from shop.services.confirmations import send_overdue_confirmations
from shop.services.orders import expire_order

failures = FailureLog(logging.getLogger("shop"))
T = TypeVar("T", bound=Model)
MAX_PER_ROUND: Final = 200  # objects of each kind per round
MIN_PAUSE, MAX_PAUSE = timedelta(seconds=2), timedelta(minutes=10)  # pauses between two calls about one payment


class Settled(NamedTuple):
    """Counts of one round.

    payments: about which the provider was asked. expired: orders. refunds: requested ones. emails: sent ones.
    """

    payments: int = 0
    expired: int = 0
    refunds: int = 0
    emails: int = 0


def settle_all() -> Settled:
    """Run one round. Payments come first, because a late payment keeps its reservation."""
    return Settled(
        payments=_call_for_payments(_find_open_payments(PaymentState.STARTED), payments.resolve_payment),
        expired=_handle_each(_find_expired_orders(clock.now()), _expire_order),
        refunds=_call_for_payments(_find_open_payments(PaymentState.REFUND_DUE), payments.refund_payment),
        emails=send_overdue_confirmations(),
    )


def _find_open_payments(state: PaymentState) -> list[Payment]:
    return list(Payment.objects.filter(state=state, ask_at__lte=clock.now()).order_by("ask_at")[:MAX_PER_ROUND])


def _find_expired_orders(now: datetime) -> list[Order]:
    """Return orders whose time to pay has ended, except those with a call to the provider that may still be
    answered.
    """
    # Slightly longer than a call may take. An order that expires during its payment would need its copies again.
    since = now - timedelta(seconds=settings.PAYMENT_TIMEOUT_SECONDS + payments.TIMEOUT_SLACK_SECONDS)
    asked = Payment.objects.filter(order=OuterRef("pk"), state=PaymentState.STARTED, created_at__gt=since)
    return list(Order.objects.past_deadline(now).exclude(Exists(asked)).order_by("reserved_until")[:MAX_PER_ROUND])


def _call_for_payments(found: list[Payment], do: Callable[[Payment], bool]) -> int:
    """Call the provider about each payment until the budget is spent. The others come first in the next round."""
    count, began = 0, monotonic()
    for payment in found:
        if monotonic() - began > settings.SHOP_ROUND_SECONDS:
            break
        # Claimed one by one: a process that is killed has postponed one payment, and not the whole list.
        if _claim_payment(payment):
            count += 1
            _handle_each([payment], do)
    return count


def _claim_payment(payment: Payment) -> bool:
    """Claim a payment for this process and schedule the next attempt, with a rising pause."""
    # The condition on ``ask_at`` lets one process change the row, and only that process calls the provider.
    mine = Payment.objects.filter(pk=payment.pk, state=payment.state, ask_at=payment.ask_at)
    return bool(mine.update(ask_at=next_attempt_at(payment, clock.now())))


def next_attempt_at(payment: Payment, now: datetime) -> datetime:
    """Return the time of the next call about an open payment."""
    return now + min(max((now - payment.created_at) / 4, MIN_PAUSE), MAX_PAUSE)


def _expire_order(order: Order) -> bool:
    return expire_order(order.pk)


def _handle_each(things: Sequence[T], do: Callable[[T], bool]) -> int:
    count = 0
    for thing in things:
        key = type(thing), thing.pk
        try:
            count += do(thing)
        # One failure does not stop the others.
        except Exception as error:
            failures.add(key, "%r could not be settled", thing, error=error)
        else:
            failures.end(key, "%r was settled", thing)
    return count
