"""Letters to buyers: text, in the language of the request that ordered.

That an order is paid is told at least once (``shop.services.confirming``); that it is cancelled or sent, as soon as it
is committed, by a worker that tries for a while.

The buyer types name and address freely, so a letter could carry anybody's words to anybody. Orders that were never paid
cause none, and one address gets a limited number in a day. An address that the buyer's account has not
confirmed gets the receipt alone.
"""

import logging
from typing import Any, Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import override

from accounts.letters import post
from accounts.names import fold
from accounts.ratelimit import allow, give_back
from mirror.commit import after_commit
from shop.models import Order

logger = logging.getLogger("shop")
DAY_SECONDS: Final = 86_400
ABOUT: Final = ("confirmed", "cancelled", "sent")


def write(about: str, order: Order) -> EmailMessage:
    """A letter about an order, not sent yet, from ``shop/letters/<about>``: one query, for its lines."""
    assert about in ABOUT, about
    context: dict[str, Any] = {"order": order, "lines": list(order.lines.order_by("pk"))}
    with override(order.language or settings.LANGUAGE_CODE):
        subject = render_to_string(f"shop/letters/{about}_subject.txt", context)
        text = render_to_string(f"shop/letters/{about}.txt", context)
    return EmailMessage(" ".join(subject.split()), text, to=[order.email])


def confirm(order: Order) -> int:
    """Tell its buyer that an order is paid. Returns and raises as ``tell``."""
    return _send("confirmed", order)


def tell(about: str, order_id: int) -> int:
    """Send a letter about an order; none for an order that is gone or was never paid. Returns how many were sent.

    Raises OSError (as smtplib's errors are) when the mail server does not take it.
    """
    order = Order.objects.filter(pk=order_id).select_related("user").first()
    return _send(about, order) if order and (about == "confirmed" or _is_confirmed(order)) else 0


def _is_confirmed(order: Order) -> bool:
    """Whether the order's address is the one that its buyer has confirmed."""
    return order.user is not None and fold(order.user.email) == fold(order.email)


def _send(about: str, order: Order) -> int:
    if order.paid_at is None:
        return 0
    limit = ("order-letters", fold(order.email))
    if allow(*limit, settings.SHOP_ADDRESS_LETTERS, DAY_SECONDS):
        logger.warning("Order %s: its address has had too many letters today", order.pk)
        return 0
    try:
        return write(about, order).send()
    except OSError:
        give_back(*limit)
        raise


def tell_soon(about: str, order_id: int) -> None:
    """Have a worker tell it after the commit. Never raises, never waits for the mail server."""
    after_commit(post, "shop.tasks.tell", about, order_id)
