"""Letters that confirm orders: soon after the commit, and if that came to nothing, by ``shop.services.settle``.

At least once: who is killed between sending one and writing that down sends it again.
"""

import logging
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone

from mirror import send
from shop.models import EventKind, Order
from shop.services.trace import note

logger = logging.getLogger("shop")
SOON_SECONDS: Final = 15  # that the worker has, before another does it
GIVE_UP_HOURS: Final = 24  # an address that takes no letters must not be tried for ever
MOST: Final = 50


def soon(order_id: int) -> None:
    """Have a worker write to an order's customer. Never raises, never takes long."""
    from shop.tasks import confirm as task

    send.task(task.apply_async, args=(order_id,))


def confirm(order_id: int) -> bool:
    """Write to the customer of a paid order. False: they have been written to."""
    from shop import letters

    order = Order.objects.filter(pk=order_id, confirmed_at=None, paid_at__isnull=False).first()
    if order is None:
        return False
    letters.confirm(order)
    with transaction.atomic():
        if Order.objects.filter(pk=order_id, confirmed_at=None).update(confirmed_at=timezone.now()):
            note(order_id, EventKind.CONFIRMED)
    return True


def confirm_left() -> int:
    """Write to those whose letter has not gone out. Returns to how many."""
    now, count = timezone.now(), 0
    times = (now - timedelta(hours=GIVE_UP_HOURS), now - timedelta(seconds=SOON_SECONDS))
    # The newest first: one that cannot be sent stands in nobody's way.
    left = Order.objects.filter(confirmed_at=None, paid_at__range=times).order_by("-paid_at")
    for pk in list(left.values_list("pk", flat=True)[:MOST]):
        try:
            count += confirm(pk)
        except Exception:  # whatever the mail server, or the letter, has
            logger.exception("Order %s: its letter could not be sent", pk)
    return count
