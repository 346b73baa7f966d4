"""Letters that confirm orders: soon after the commit, and if that came to nothing, by ``shop.services.settle``.

At least once: who is killed between sending one and writing that down sends it again.
"""

import logging
from datetime import timedelta
from time import monotonic
from typing import Final

from django.conf import settings
from django.db import transaction

from accounts.ratelimit import allow
from config import clock
from mirror import send
from mirror.failure_log import FailureLog
from shop import letters
from shop.models import EventKind, Order
from shop.services.trace import note

failures = FailureLog(logging.getLogger("shop"))
SOON_SECONDS: Final = 15  # that the worker has, before another does it
LATEST_SECONDS: Final = 600  # between two tries at one letter
GIVE_UP_HOURS: Final = 24  # an address that takes no letters must not be tried for ever
MOST: Final = 200


def soon(order_id: int) -> None:
    """Have a worker write to an order's customer. Never raises, never takes long."""
    send.task("shop.tasks.confirm", args=(order_id,))


def confirm(order_id: int) -> bool:
    """Write to the customer of a paid order.

    False: they have been written to, it is cancelled by now, or their address has had too many letters today.
    """
    order = Order.objects.to_confirm().filter(pk=order_id).first()
    if order is None or not letters.confirm(order):
        return False
    with transaction.atomic():
        if Order.objects.filter(pk=order_id, confirmed_at=None).update(confirmed_at=clock.now()):
            note(order_id, EventKind.CONFIRMED)
    return True


def confirm_left() -> int:
    """Write to those whose letter has not gone out, to each of them ever later. Returns to how many."""
    now, count, began = clock.now(), 0, monotonic()
    times = (now - timedelta(hours=GIVE_UP_HOURS), now - timedelta(seconds=SOON_SECONDS))
    # The newest first: one that cannot be sent stands in nobody's way.
    left = Order.objects.to_confirm().filter(paid_at__range=times).order_by("-paid_at")
    for pk, paid_at in list(left.values_list("pk", "paid_at")[:MOST]):
        if monotonic() - began > settings.SHOP_ROUND_SECONDS:
            break
        assert paid_at is not None
        wait = min(max((now - paid_at).total_seconds() / 4, SOON_SECONDS), LATEST_SECONDS)
        try:
            if allow("confirmation", pk, 1, wait):
                continue
            count += confirm(pk)
        except Exception as error:  # whatever the mail server, or the letter, has
            failures.add(pk, "Order %s: its letter could not be sent", pk, error=error)
        else:
            failures.end(pk, "Order %s: its letter was sent", pk)
    return count
