"""Change carts. Each change checks the product and the limits."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from common.refusals import Refused
from mirror.read import read_from_primary
from shop.carts import rules, storage
from shop.carts.reading import CartView, read_cart
from shop.mirrors import ProductMirror


class CartError(Refused):
    """A change of a cart was refused. ``str()`` gives the reason for the visitor. field: "product" or "quantity"."""

    def __init__(self, message: str, field: str = "quantity") -> None:
        super().__init__(message)
        self.text, self.field = message, field

    def __str__(self) -> str:
        return self.text


def check_line(product_id: int, quantity: int) -> None:
    """Check that an empty cart could take this line. Raises CartError."""
    if quantity < 1:
        raise CartError(_("Add at least one copy to the cart."))
    try:
        rules.change_line(rules.EMPTY, product_id, quantity, _get_price(product_id), now=0)
    except rules.LimitExceeded as error:
        raise CartError(_describe_limit(error)) from error


def set_line(digest: str, product_id: int, quantity: int) -> CartView:
    """Set the quantity of a product in a cart; 0 removes it. Return the new cart.

    Raises CartError if the product is not for sale (unless it is removed), if the quantity is negative, or if the cart
    would exceed its limits.
    """
    if quantity < 0:
        raise CartError(_("The quantity cannot be negative."))
    price = _get_price(product_id) if quantity else 0
    return _change(digest, product_id, quantity, price)


def add_copies(digest: str, product_id: int, quantity: int = 1) -> CartView:
    """Add copies of a product to a cart. Return the new cart. Raises CartError as ``set_line`` does."""
    if quantity < 1:
        raise CartError(_("Add at least one copy to the cart."))
    return _change(digest, product_id, quantity, _get_price(product_id), is_more=True)


def _get_price(product_id: int) -> int:
    """Return the current price of a product in cents. Raises CartError if it is not for sale."""
    with read_from_primary():
        product = ProductMirror.get(product_id)
    if product is None:
        raise CartError(_("Product not found."), "product")
    if not product["is_active"]:
        raise CartError(_("This book is no longer for sale."), "product")
    return product.now.cents


def _change(digest: str, product_id: int, quantity: int, price: int, *, is_more: bool = False) -> CartView:
    try:
        return storage.change_line(digest, product_id, quantity, price, is_more=is_more)
    except rules.LimitExceeded as error:
        raise CartError(_describe_limit(error)) from error
    except storage.SessionGone as error:
        raise CartError(_("You have logged in or out in another window. Load the page again.")) from error


def _describe_limit(error: rules.LimitExceeded) -> str:
    most = rules.get_limits()
    if error.what == "copies":
        return ngettext(
            "A cart holds at most %(most)d copy of a book.",
            "A cart holds at most %(most)d copies of a book.",
            most.copies,
        ) % {"most": most.copies}
    return ngettext(
        "A cart holds at most %(most)d book.", "A cart holds at most %(most)d different books.", most.lines
    ) % {"most": most.lines}


__all__ = ["CartError", "CartView", "add_copies", "read_cart", "set_line"]
