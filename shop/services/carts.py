"""Changing carts: in Redis, and while it is away in SQL. Each change is made once."""

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
    """A line cannot be as it was wanted. As text: why, for people. field: what is wrong, "product" or "quantity"."""

    def __init__(self, message: str, field: str = "quantity") -> None:
        super().__init__(message)
        self.text, self.field = message, field

    def __str__(self) -> str:
        return self.text


def check(product_id: int, quantity: int) -> None:
    """Whether so many copies could be put into an empty cart. Raises CartError."""
    if quantity < 1:
        raise CartError(_("Put at least one copy into the cart."))
    try:
        changed(EMPTY, "set", [Change(str(product_id), quantity, _price(product_id))], limits())
    except TooMany as error:
        raise CartError(_said(error)) from error


def set_line(digest: str, product_id: int, quantity: int) -> CartNow:
    """Have so many copies of a product in a cart; 0 takes it out. Returns the cart as it is then.

    Raises CartError: for products that are not for sale (they can still be taken out), for a quantity below 0, and for
    more copies, or more products, than a cart may have.
    """
    if quantity < 0:
        raise CartError(_("There cannot be fewer than no copies."))
    price = _price(product_id) if quantity else 0
    return _change(digest, "set", [Change(str(product_id), quantity, price)])


def add(digest: str, product_id: int, quantity: int = 1) -> CartNow:
    """Put so many more copies of a product into a cart. As ``set_line``."""
    if quantity < 1:
        raise CartError(_("Put at least one copy into the cart."))
    return _change(digest, "add", [Change(str(product_id), quantity, _price(product_id))])


def take_out(digest: str, version: int, lines: Mapping[int, int], *, key: str) -> CartNow:
    """Take out what was ordered: everything, if the cart's version is still this one; else these quantities.

    key: the order's. Called again with the same key it changes nothing.
    """
    changes = [Change(str(product), quantity) for product, quantity in lines.items()]
    return _change(digest, "take", changes, key=key, version=version)


def _price(product_id: int) -> int:
    """What a product costs now, in cents. Raises CartError where it is not for sale."""
    product = get_product(product_id)
    if product is None:
        raise CartError(_("There is no such product."), "product")
    if not product["is_active"]:
        raise CartError(_("This book is no longer for sale."), "product")
    return product.now.cents


def limits() -> Limits:
    """What a cart may have."""
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
    """Change it in Redis, wherever it has moved. Raises TooMany, redis-py's errors."""
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
