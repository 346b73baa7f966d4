"""Change carts in Redis, or in SQL while Redis is away. Each change takes effect once."""

import logging
from collections.abc import Callable, Mapping, Sequence

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from mirror.backup import access
from mirror.redis import try_redis
from shop.carts import scripts
from shop.carts.content import EMPTY_CART, CartContent, CartLimits, LimitExceeded, LineChange, apply_changes
from shop.carts.reading import CartView, get_cart_backup, make_cart_view, push_cart_to_redis, read_cart
from shop.carts.without_redis import MAX_MOVES, get_request_state, write_to_sql
from shop.selectors.products import get_product
from shop.services.errors import Refused

logger = logging.getLogger("shop")


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
        apply_changes(EMPTY_CART, "set", [LineChange(str(product_id), quantity, _get_price(product_id))], get_limits())
    except LimitExceeded as error:
        raise CartError(_describe_limit(error)) from error


def set_line(digest: str, product_id: int, quantity: int) -> CartView:
    """Set the quantity of a product in a cart; 0 removes it. Return the new cart.

    Raises CartError if the product is not for sale (unless it is removed), if the quantity is negative, or if the cart
    would exceed its limits.
    """
    if quantity < 0:
        raise CartError(_("The quantity cannot be negative."))
    price = _get_price(product_id) if quantity else 0
    return _apply(digest, "set", [LineChange(str(product_id), quantity, price)])


def add_copies(digest: str, product_id: int, quantity: int = 1) -> CartView:
    """Add copies of a product to a cart. Return the new cart. Raises CartError as ``set_line`` does."""
    if quantity < 1:
        raise CartError(_("Add at least one copy to the cart."))
    return _apply(digest, "add", [LineChange(str(product_id), quantity, _get_price(product_id))])


def take_out_lines(digest: str, version: int, lines: Mapping[int, int], *, key: str) -> CartView:
    """Remove ordered lines: all of each line if the cart still has this version, else these quantities.

    key: the key of the order. Repeated calls with one key have no effect.
    """
    changes = [LineChange(str(product), quantity) for product, quantity in lines.items()]
    return _apply(digest, "take", changes, key=key, version=version)


def _get_price(product_id: int) -> int:
    """Return the current price of a product in cents. Raises CartError if it is not for sale."""
    product = get_product(product_id)
    if product is None:
        raise CartError(_("Product not found."), "product")
    if not product["is_active"]:
        raise CartError(_("This book is no longer for sale."), "product")
    return product.now.cents


def get_limits() -> CartLimits:
    """Return the limits of a cart."""
    return CartLimits(settings.SHOP_CART_LINES, settings.SHOP_CART_QUANTITY)


def _apply(digest: str, mode: str, changes: Sequence[LineChange], *, key: str = "", version: int = -1) -> CartView:
    try:
        return try_redis(
            lambda redis: _change_in_redis(digest, mode, changes, key, version),
            lambda: make_cart_view(write_to_sql(digest, _make_change(mode, changes, key, version))),
            logger,
            "Redis did not take a change of a cart, SQL does: %s",
        )
    except LimitExceeded as error:
        raise CartError(_describe_limit(error)) from error


def _change_in_redis(digest: str, mode: str, changes: Sequence[LineChange], key: str, version: int) -> CartView:
    """Change a cart in Redis, following its moves. Raises LimitExceeded and redis-py's errors."""
    for _hop in range(MAX_MOVES):
        if get_request_state().was_behind and not get_request_state().has_caught_up:
            push_cart_to_redis(digest)
        arguments = scripts.make_change_arguments(digest, mode, changes, get_limits(), key, version)
        names = [*scripts.get_cart_keys(digest), get_cart_backup().marks_of(digest)]
        what, *rest = access.write(get_cart_backup(), [digest], scripts.change_script, names, arguments)
        if what == b"ok":
            return make_cart_view(scripts.decode_content(rest[0]))
        if what != b"moved":
            raise LimitExceeded(what.decode())
        digest = rest[0].decode()
    raise RuntimeError(f"the cart {digest[:12]} has moved too often")


def _make_change(
    mode: str, changes: Sequence[LineChange], key: str, version: int
) -> Callable[[CartContent], CartContent]:
    return lambda content: apply_changes(content, mode, changes, get_limits(), key=key, version=version)


def _describe_limit(error: LimitExceeded) -> str:
    most = get_limits()
    if error.what == "copies":
        return ngettext(
            "A cart holds at most %(most)d copy of a book.",
            "A cart holds at most %(most)d copies of a book.",
            most.copies,
        ) % {"most": most.copies}
    return ngettext(
        "A cart holds at most %(most)d book.", "A cart holds at most %(most)d different books.", most.lines
    ) % {"most": most.lines}


__all__ = ["CartError", "CartView", "add_copies", "read_cart", "set_line", "take_out_lines"]
