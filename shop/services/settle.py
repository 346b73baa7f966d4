"""Complete open payments, reservations, refunds and emails. Beat starts it every few seconds; concurrent runs are safe.

Each object is checked again under its own lock before it is changed. A failure does not affect the others.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from time import monotonic
from typing import Final, NamedTuple, TypeVar

from django.conf import settings
from django.db.models import Exists, Model, OuterRef, QuerySet

from common import clock
from mirror.utils import FailureLog
from shop.models import Order, Payment, PaymentState, Refund, RefundState
from shop.services import payments, refunds
from shop.services.confirmations import send_overdue_confirmations
from shop.services.orders import expire_order

failures = FailureLog(logging.getLogger("shop"))
T = TypeVar("T", bound=Model)
Call = TypeVar("Call", Payment, Refund)  # what the provider is called about
MAX_PER_ROUND: Final = 200  # objects of each kind per round
MIN_PAUSE, MAX_PAUSE = timedelta(seconds=2), timedelta(minutes=10)  # pauses between two calls about one row


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
        payments=_call_for_each(
            _find_due(Payment.objects.filter(state=PaymentState.STARTED)), payments.resolve_payment
        ),
        expired=_handle_each(_find_expired_orders(clock.now()), _expire_order),
        refunds=_call_for_each(
            _find_due(Refund.objects.filter(state=RefundState.DUE).select_related("payment")), refunds.make_refund
        ),
        emails=send_overdue_confirmations(),
    )


def _find_due(rows: QuerySet[Call]) -> list[Call]:
    return list(rows.filter(ask_at__lte=clock.now()).order_by("ask_at")[:MAX_PER_ROUND])


def _find_expired_orders(now: datetime) -> list[Order]:
    """Return orders whose time to pay has ended, except those with a call to the provider that may still be
    answered.
    """
    # Slightly longer than a call may take. An order that expires during its payment would need its copies again.
    since = now - timedelta(seconds=settings.PAYMENT_TIMEOUT_SECONDS + payments.TIMEOUT_SLACK_SECONDS)
    asked = Payment.objects.filter(order=OuterRef("pk"), state=PaymentState.STARTED, created_at__gt=since)
    return list(Order.objects.past_deadline(now).exclude(Exists(asked)).order_by("reserved_until")[:MAX_PER_ROUND])


def _call_for_each(found: list[Call], do: Callable[[Call], bool]) -> int:
    """Call the provider about each row until the budget is spent. The others come first in the next round."""
    count, began = 0, monotonic()
    for row in found:
        if monotonic() - began > settings.SHOP_ROUND_SECONDS:
            break
        # Claimed one by one: a process that is killed has postponed one row, and not the whole list.
        if _claim(row):
            count += 1
            _handle_each([row], do)
    return count


def _claim(row: Payment | Refund) -> bool:
    """Claim a payment or refund for this process and schedule the next attempt, with a rising pause."""
    # The condition on ``ask_at`` lets one process change the row, and only that process calls the provider.
    mine = type(row)._default_manager.filter(pk=row.pk, state=row.state, ask_at=row.ask_at)
    return bool(mine.update(ask_at=next_attempt_at(row, clock.now())))


def next_attempt_at(row: Payment | Refund, now: datetime) -> datetime:
    """Return the time of the next call about an open payment or a due refund."""
    return now + min(max((now - row.created_at) / 4, MIN_PAUSE), MAX_PAUSE)


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
