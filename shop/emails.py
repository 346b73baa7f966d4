"""Emails to buyers, in text and HTML, in the language of the request that ordered.

The confirmation of a paid order is delivered at least once (``shop.services.confirmations``). A worker sends notices of
cancelled, sent and refunded orders after the commit and retries for a while.

Buyers choose the name and the address, so these emails could be abused to send text to other people. Therefore unpaid
orders cause no email, each address gets a limited number per day, and an address that the account has not verified gets
only the confirmation. Guests get all emails, because they learn nowhere else that their order was sent; they link to
the order by a signed link, and those to readers by its number. The email with nothing but this link ("link"), after a
failed payment or for a guest who has lost it, has no words of the buyer.
"""

import logging
from typing import Any, Final

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils.translation import override

from accounts.mail import queue_task
from accounts.ratelimit import count_event, give_back
from accounts.words import break_links
from common import clock
from common.text import fold_address
from mirror.utils import after_commit
from shop.invoices.selectors import list_invoices
from shop.models import Order, OrderState, Refund, Return, ReturnState
from shop.selectors.links import make_slip_path
from shop.selectors.order_lines import annotate_refunds
from shop.selectors.orders import OrderView
from shop.seller import get_seller

logger = logging.getLogger("shop")
DAY_SECONDS: Final = 86_400
RETURN_STATES: Final = {"return_accepted": ReturnState.ACCEPTED, "return_refused": ReturnState.REFUSED}
EMAIL_KINDS: Final = ("confirmed", "cancelled", "sent", "refunded", "link", *RETURN_STATES)


def make_email(about: str, order: Order) -> EmailMultiAlternatives:
    """Return an unsent email about an order, rendered from ``shop/mails/<about>``. Two queries: lines and invoices."""
    assert about in EMAIL_KINDS, about
    lines = list(annotate_refunds(order.lines.order_by("pk")))
    view = OrderView(order, lines, (), clock.now())
    with override(order.language or settings.LANGUAGE_CODE):
        context: dict[str, Any] = {"order": order, "lines": lines, "links": view.links}
        context |= {"view": view, "vat": view.vat, "arrival": view.dated_arrival, "tracking": view.tracking}
        context["invoices"] = list_invoices(order)
        if about in RETURN_STATES and (found := _find_return(about, order)):
            context |= {"found": found, "slip": make_slip_path(order, found.pk)}
        if about in ("refunded", "cancelled"):
            context["refunds"] = Refund.objects.filter(payment__order=order)
        context |= {"seller": get_seller(), "return_days": settings.RETURN_DAYS}
        # The name of a company may be a host name.
        context |= {"name": break_links(order.name), "address": break_links(order.address)}
        subject = " ".join(render_to_string(f"shop/mails/{about}_subject.txt", context).split())
        text = render_to_string(f"shop/mails/{about}.txt", context)
        html = render_to_string(f"shop/mails/{about}.html", {**context, "subject": subject})
    email = EmailMultiAlternatives(subject, text, to=[order.email])
    email.attach_alternative(html, "text/html")
    return email


def send_confirmation(order: Order) -> int:
    """Send the confirmation of a paid order. Returns and raises like ``send_email``."""
    return _send_within_limit("confirmed", order)


def send_email(about: str, order_id: int) -> int:
    """Send a notice about an order, unless the order is gone. Unpaid ones cause none but "link". Return the number of
    sent emails.

    SQL must confirm that it happened, because other programs may write to the broker. Raises OSError, the base of
    smtplib's errors, if the mail server refuses it.
    """
    order = Order.objects.filter(pk=order_id).select_related("user").first()
    if order is None or not _has_happened(about, order):
        return 0
    if about != "confirmed" and not order.gets_notices:
        return 0
    return _send_within_limit(about, order)


def _has_happened(about: str, order: Order) -> bool:
    match about:
        case "confirmed":
            return order.state in (OrderState.PAID, OrderState.SENT) and order.email != ""
        case "cancelled":
            return order.cancelled_at is not None
        case "sent":
            return order.sent_at is not None
        case "refunded":
            return Refund.objects.filter(payment__order=order).exists()
        case "link":
            return order.is_of_guest
    if about in RETURN_STATES:
        return _find_return(about, order) is not None
    return False


def _find_return(about: str, order: Order) -> Return | None:
    """Return the return that was decided last."""
    return order.returns.filter(state=RETURN_STATES[about]).order_by("-decided_at").first()


def _send_within_limit(about: str, order: Order) -> int:
    if order.paid_at is None and about != "link":
        return 0
    limit = _get_limit(order)
    if count_event(*limit, settings.SHOP_ADDRESS_LETTERS, DAY_SECONDS):
        logger.warning("Order %s: its address has had too many letters today", order.pk)
        return 0
    try:
        return make_email(about, order).send()
    except OSError:
        give_back(*limit)
        raise


def is_over_limit(order: Order) -> bool:
    """Return whether the address of an order has had all emails of this day."""
    limit = _get_limit(order)
    wait = count_event(*limit, settings.SHOP_ADDRESS_LETTERS, DAY_SECONDS)
    give_back(*limit)
    return wait > 0


def _get_limit(order: Order) -> tuple[str, str]:
    return "order-letters", fold_address(order.email)


def send_email_soon(about: str, order_id: int) -> None:
    """Let a worker send the email after the commit. Never raises and never waits for the mail server."""
    after_commit(queue_task, "shop.tasks.tell", about, order_id)
