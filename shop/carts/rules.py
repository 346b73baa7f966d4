"""The rules of a cart: quantities, limits, and the combination of several carts. Nothing here reads or writes."""

import time
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from django.conf import settings

CartLines = Mapping[int, "CartLine"]  # by product id


class CartLine(NamedTuple):
    """One product in a cart.

    quantity: copies. price: the price of a copy when the product was added, in cents. added: the time when the product
    was added, in microseconds since 1970; a change of the quantity keeps it.
    """

    quantity: int
    price: int
    added: int


class LimitExceeded(ValueError):
    """Raised when a cart is full. what: the limit that was reached, "lines" or "copies"."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class CartLimits(NamedTuple):
    """The largest number of different products, and of copies of each."""

    lines: int
    copies: int


EMPTY: Final[CartLines] = {}


def get_limits() -> CartLimits:
    """Return the limits of a cart."""
    return CartLimits(settings.SHOP_CART_LINES, settings.SHOP_CART_QUANTITY)


def next_version(after: int) -> int:
    """Return the current time in microseconds since 1970, or ``after + 1`` if that is later."""
    # A clock that was set back must not repeat a version, from which the key of an order derives.
    return max(time.time_ns() // 1000, after + 1)


def change_line(lines: CartLines, product: int, quantity: int, price: int, now: int) -> CartLines:
    """Return the lines after a product's quantity was set; 0 removes it.

    price: the current price in cents. now: in microseconds since 1970. Raises LimitExceeded. A quantity above the limit
    may stay or fall, because the limit may have been higher.
    """
    before = lines.get(product)
    if not quantity:
        return {pk: line for pk, line in lines.items() if pk != product}
    limits = get_limits()
    if quantity > max(limits.copies, before.quantity if before else 0):
        raise LimitExceeded("copies")
    if before is None and len(lines) >= limits.lines:
        raise LimitExceeded("lines")
    return {**lines, product: CartLine(quantity, price, before.added if before else now)}


def combine(own: CartLines, others: Iterable[CartLines]) -> CartLines:
    """Return one cart that holds the copies of several carts, as far as the limits allow.

    Each product keeps the earliest time at which it was added to any of them.
    """
    lines, limits = dict(own), get_limits()
    for other in others:
        for product, came in sorted(other.items(), key=lambda item: item[1].added):
            before = lines.get(product)
            if before is None and len(lines) < limits.lines:
                lines[product] = came._replace(quantity=min(came.quantity, limits.copies))
            elif before is not None:
                most = max(before.quantity, limits.copies)
                first = min(before, came, key=lambda line: line.added)
                lines[product] = CartLine(min(before.quantity + came.quantity, most), before.price, first.added)
    return lines


def count_copies(lines: CartLines) -> int:
    """Return the number of copies of all products."""
    return sum(line.quantity for line in lines.values())
