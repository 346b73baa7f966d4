"""Letters to buyers: text, in the language of the request that ordered. Who sends them, and once: ``shop.services``."""

from typing import Any, Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import override

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


def tell_cancelled(order: Order) -> None:
    """Tell its buyer that an order is cancelled, and that what was paid goes back. Raises as ``confirm``."""
    write("cancelled", order).send()


def tell_sent(order: Order) -> None:
    """Tell its buyer that an order is on its way. Raises as ``confirm``."""
    write("sent", order).send()
