"""Send confirmations of paid orders soon after the commit; ``shop.services.settle`` retries failed ones.

Each is sent at least once: a process that is killed between sending and recording causes a second email.
"""

import logging
from datetime import timedelta
from time import monotonic
from typing import Final

from django.conf import settings
from django.db import transaction

from accounts.ratelimit import count_event
from common import clock
from common.database import repeat_after_conflict
from mirror.relay import send
from mirror.utils import FailureLog
from shop import emails
from shop.models import EventKind, Order
from shop.services.order_steps import record_step

confirmation_failures = FailureLog(logging.getLogger("shop"))
FIRST_ATTEMPT_SECONDS: Final = 15  # time for the first attempt before ``settle`` retries
MAX_PAUSE_SECONDS: Final = 600  # longest pause between two attempts for one order
GIVE_UP_HOURS: Final = 24  # undeliverable emails are not retried for ever
MAX_CONFIRMATIONS: Final = 200


def confirm_soon(order_id: int) -> None:
    """Let a worker send the confirmation. Never raises and returns quickly."""
    send.task("shop.tasks.confirm", args=(order_id,))


def send_confirmation(order_id: int) -> bool:
    """Send the confirmation of a paid order. Return whether it was sent.

    It is not sent twice, nor for a cancelled order, nor to an address with too many emails today.
    """
    order = Order.objects.awaiting_confirmation().filter(pk=order_id).first()
    if order is None or not emails.send_confirmation(order):
        return False
    # Recorded after it was sent: a crash in between sends a second email, and the reverse order would send none.
    _mark_confirmed(order_id)
    return True


@repeat_after_conflict
def _mark_confirmed(order_id: int) -> None:
    with transaction.atomic():
        # Another process may have sent it as well. The step is recorded once.
        if Order.objects.filter(pk=order_id, confirmed_at=None).update(confirmed_at=clock.now()):
            record_step(order_id, EventKind.CONFIRMED)


def send_overdue_confirmations() -> int:
    """Send overdue confirmations, with rising pauses between attempts. Return how many were sent."""
    now, count, began = clock.now(), 0, monotonic()
    times = (now - timedelta(hours=GIVE_UP_HOURS), now - timedelta(seconds=FIRST_ATTEMPT_SECONDS))
    # Newest first, so that undeliverable ones do not delay the others.
    left = Order.objects.awaiting_confirmation().filter(paid_at__range=times).order_by("-paid_at")
    for pk, paid_at in list(left.values_list("pk", "paid_at")[:MAX_CONFIRMATIONS]):
        if monotonic() - began > settings.SHOP_ROUND_SECONDS:
            break
        assert paid_at is not None
        wait = min(max((now - paid_at).total_seconds() / 4, FIRST_ATTEMPT_SECONDS), MAX_PAUSE_SECONDS)
        try:
            # One attempt in each pause, for all processes together.
            if count_event("confirmation", pk, 1, wait):
                continue
            count += send_confirmation(pk)
        except Exception as error:  # any error of the mail server or of the rendering
            confirmation_failures.add(pk, "Order %s: its letter could not be sent", pk, error=error)
        else:
            confirmation_failures.end(pk, "Order %s: its letter was sent", pk)
    return count
