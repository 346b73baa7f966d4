"""What a product costs at a moment."""

from typing import Any, NamedTuple

from mirror.declare import Record


class Price(NamedTuple):
    """cents: what one costs now. was: its usual price, if that is higher. sale, ends: the sale that makes it so, and
    when that ends (seconds since 1970).
    """

    cents: int
    was: int | None = None
    sale: int | None = None
    ends: float | None = None


def price_at(product: Record | Any, moment: float) -> Price:
    """The price of a product (its record) at ``moment``, seconds since 1970: the lowest of the sales that are on, if
    that is lower than its own.
    """
    on = [sale for sale in product["sales"] if sale["starts"] <= moment < sale["ends"]]
    best = min(on, key=lambda sale: (sale["price"], sale["ends"]), default=None)
    if best is None or best["price"] >= product["price"]:
        return Price(product["price"])
    return Price(best["price"], product["price"], best["sale"], best["ends"])
