"""The addresses of an order's pages: by number for its reader, and by a signed link for a guest.

A link shows one order of a guest, and grants nothing else: it logs nobody in. It ends when a reader claims the order.
"""

from typing import Final, NamedTuple

from django.core import signing

from common.paths import make_path
from shop.models import Order

SALT: Final = "shop.guest-order"


class OrderLinks(NamedTuple):
    """The paths of an order's pages. claim: "" unless a reader can claim the order."""

    order: str
    pay: str
    cancel: str
    give_back: str
    claim: str = ""


def make_links(order: Order) -> OrderLinks:
    """Return the paths of an order's pages for its buyer."""
    if not order.is_of_guest:
        paths = (make_path(f"shop:{view}", order.pk) for view in ("order", "pay", "cancel_order", "return_books"))
        return OrderLinks(*paths)
    token = make_token(order)
    views = ("guest_order", "guest_pay", "guest_cancel", "guest_return_books", "guest_claim")
    return OrderLinks(*(make_path(f"shop:{view}", order.pk, token) for view in views))


def make_slip_path(order: Order, return_id: int) -> str:
    """Return the path of the slip of a return, for the buyer of its order."""
    if not order.is_of_guest:
        return make_path("shop:return_slip", order.pk, return_id)
    return make_path("shop:guest_return_slip", order.pk, make_token(order), return_id)


def make_invoice_path(order: Order, invoice_id: int) -> str:
    """Return the path of an invoice or a credit note, for the buyer of its order."""
    if not order.is_of_guest:
        return make_path("shop:invoice", order.pk, invoice_id)
    return make_path("shop:guest_invoice", order.pk, make_token(order), invoice_id)


def make_token(order: Order) -> str:
    """Return the signature in the links of a guest's order."""
    return _make_signer().sign(_describe(order)).rpartition(":")[2]


def is_token(order: Order, token: str) -> bool:
    """Return whether a signature belongs to an order. Signatures of former secrets count while they are fallbacks."""
    try:
        _make_signer().unsign(f"{_describe(order)}:{token}")
    except signing.BadSignature:
        return False
    return True


def _describe(order: Order) -> str:
    # The key as well: after a restored backup, a number may belong to another order.
    return f"{order.pk}.{order.key}"


def _make_signer() -> signing.Signer:
    return signing.Signer(salt=SALT)
