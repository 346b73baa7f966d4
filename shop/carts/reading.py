"""Read carts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from shop.mirrors.carts import CartMirror


class CartView(NamedTuple):
    """The current content of a cart.

    lines: copies by product id, in the order in which the products were added. version: the time of the last change in
    microseconds since 1970, or 0 for a cart that was never written. prices: the price of each product when it was
    added, in cents.
    """

    lines: Mapping[int, int] = {}
    version: int = 0
    prices: Mapping[int, int] = {}

    @property
    def copies(self) -> int:
        """The number of copies of all products."""
        return sum(self.lines.values())


def read_cart(digest: str | None) -> CartView:
    """Return the cart of a session digest; None means that the visitor has no session. One round trip and no SQL."""
    record = CartMirror.get(digest) if digest else None
    return make_view(record["lines"], record["version"]) if record else CartView()


def make_view(lines: Mapping[str, Any], version: int) -> CartView:
    """Return the public view of a cart's lines, in their form of ``Cart.lines``."""
    ordered = sorted((line["added"], int(pk), line) for pk, line in lines.items())
    quantities = {pk: line["quantity"] for _, pk, line in ordered}
    return CartView(quantities, version, {pk: line["price"] for _, pk, line in ordered})
