"""Letters to buyers: text, in the language of the request that ordered.

That an order is paid is told at least once (``shop.services.confirming``); that it is cancelled or sent, as soon as it
is committed, by a worker that tries for a while.
"""

from typing import Any, Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import override

from accounts.letters import post
from mirror.commit import after_commit
from shop.models import Order

ABOUT: Final = ("confirmed", "cancelled", "sent")


def write(about: str, order: Order) -> EmailMessage:
    """A letter about an order, not sent yet, from ``shop/letters/<about>``: one query, for its lines."""
    assert about in ABOUT, about
    context: dict[str, Any] = {"order": order, "lines": list(order.lines.order_by("pk"))}
    with override(order.language or settings.LANGUAGE_CODE):
        subject = render_to_string(f"shop/letters/{about}_subject.txt", context)
        text = render_to_string(f"shop/letters/{about}.txt", context)
    return EmailMessage(" ".join(subject.split()), text, to=[order.email])


def confirm(order: Order) -> None:
    """Tell its buyer that an order is paid. Raises OSError (as smtplib's errors are) when it cannot be sent."""
    write("confirmed", order).send()


def tell(about: str, order_id: int) -> int:
    """Send a letter about an order; none for an order that is gone. Raises as ``confirm``. Returns how many."""
    order = Order.objects.filter(pk=order_id).first()
    return write(about, order).send() if order else 0


def tell_soon(about: str, order_id: int) -> None:
    """Have a worker tell it after the commit. Never raises, never waits for the mail server."""
    after_commit(post, "shop.tasks.tell", about, order_id)
