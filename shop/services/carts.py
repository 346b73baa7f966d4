"""Change carts in Redis, or in SQL while Redis is away. Each change takes effect once."""

import logging
from collections.abc import Callable, Mapping, Sequence

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from mirror.backup import access
from mirror.redis import RedisError, breaker, is_away
from shop.carts import scripts
from shop.carts.cart import CartNow, backup, cart_now, read, tell
from shop.carts.content import EMPTY, Change, Content, Limits, TooMany, changed
from shop.carts.direct import HOPS, behind, write_to_sql
from shop.selectors import get_product
from shop.services.errors import Refused

logger = logging.getLogger("shop")


class CartError(Refused):
    """A change of a cart was refused. ``str()`` gives the reason for the visitor. field: "product" or "quantity"."""

    def __init__(self, message: str, field: str = "quantity") -> None:
        super().__init__(message)
        self.text, self.field = message, field

    def __str__(self) -> str:
        return self.text


def check(product_id: int, quantity: int) -> None:
    """Check that an empty cart could take this line. Raises CartError."""
    if quantity < 1:
        raise CartError(_("Add at least one copy to the cart."))
    try:
        changed(EMPTY, "set", [Change(str(product_id), quantity, _price(product_id))], limits())
    except TooMany as error:
        raise CartError(_said(error)) from error


def set_line(digest: str, product_id: int, quantity: int) -> CartNow:
    """Set the quantity of a product in a cart; 0 removes it. Return the new cart.

    Raises CartError if the product is not for sale (unless it is removed), if the quantity is negative, or if the cart
    would exceed its limits.
    """
    if quantity < 0:
        raise CartError(_("The quantity cannot be negative."))
    price = _price(product_id) if quantity else 0
    return _change(digest, "set", [Change(str(product_id), quantity, price)])


def add(digest: str, product_id: int, quantity: int = 1) -> CartNow:
    """Add copies of a product to a cart. Return the new cart. Raises CartError as ``set_line`` does."""
    if quantity < 1:
        raise CartError(_("Add at least one copy to the cart."))
    return _change(digest, "add", [Change(str(product_id), quantity, _price(product_id))])


def take_out(digest: str, version: int, lines: Mapping[int, int], *, key: str) -> CartNow:
    """Remove ordered lines: all of each line if the cart still has this version, else these quantities.

    key: the key of the order. Repeated calls with one key have no effect.
    """
    changes = [Change(str(product), quantity) for product, quantity in lines.items()]
    return _change(digest, "take", changes, key=key, version=version)


def _price(product_id: int) -> int:
    """Return the current price of a product in cents. Raises CartError if it is not for sale."""
    product = get_product(product_id)
    if product is None:
        raise CartError(_("Product not found."), "product")
    if not product["is_active"]:
        raise CartError(_("This book is no longer for sale."), "product")
    return product.now.cents


def limits() -> Limits:
    """Return the limits of a cart."""
    return Limits(settings.SHOP_CART_LINES, settings.SHOP_CART_QUANTITY)


def _change(digest: str, mode: str, changes: Sequence[Change], *, key: str = "", version: int = -1) -> CartNow:
    try:
        if not breaker.open():
            try:
                return _in_redis(digest, mode, changes, key, version)
            except (RedisError, access.NotRestored) as error:
                if is_away(error):
                    breaker.failed()
                logger.warning("Redis did not take a change of a cart, SQL does: %s", error)
        return cart_now(write_to_sql(digest, _by(mode, changes, key, version)))
    except TooMany as error:
        raise CartError(_said(error)) from error


def _in_redis(digest: str, mode: str, changes: Sequence[Change], key: str, version: int) -> CartNow:
    """Change a cart in Redis, following its moves. Raises TooMany and redis-py's errors."""
    for _hop in range(HOPS):
        if behind().was and not behind().told:
            tell(digest)
        arguments = scripts.changing(digest, mode, changes, limits(), key, version)
        names = [*scripts.both(digest), backup().marks()]
        what, *rest = access.write(backup(), [digest], scripts.change, names, arguments)
        if what == b"ok":
            return cart_now(scripts.content_of(rest[0]))
        if what != b"moved":
            raise TooMany(what.decode())
        digest = rest[0].decode()
    raise RuntimeError(f"the cart {digest[:12]} has moved too often")


def _by(mode: str, changes: Sequence[Change], key: str, version: int) -> Callable[[Content], Content]:
    return lambda content: changed(content, mode, changes, limits(), key=key, version=version)


def _said(error: TooMany) -> str:
    most = limits()
    if error.what == "copies":
        return ngettext(
            "A cart holds at most %(most)d copy of a book.",
            "A cart holds at most %(most)d copies of a book.",
            most.copies,
        ) % {"most": most.copies}
    return ngettext(
        "A cart holds at most %(most)d book.", "A cart holds at most %(most)d different books.", most.lines
    ) % {"most": most.lines}


__all__ = ["CartError", "CartNow", "add", "read", "set_line", "take_out"]
