"""The price of a product at a given time."""

from typing import Any, NamedTuple

from mirror import Record


class Price(NamedTuple):
    """cents: the current price of one copy. was: the usual price, if it is higher. sale, ends: the sale that lowers the
    price, and its end in seconds since 1970.
    """

    cents: int
    was: int | None = None
    sale: int | None = None
    ends: float | None = None


def get_price_at(product: Record | Any, moment: float) -> Price:
    """Return the price of a product (a record) at ``moment``, in seconds since 1970.

    It is the lowest price of the current sales, if that is below the usual price.
    """
    on = [sale for sale in product["sales"] if sale["starts"] <= moment < sale["ends"]]
    best = min(on, key=lambda sale: (sale["price"], sale["ends"]), default=None)
    if best is None or best["price"] >= product["price"]:
        return Price(product["price"])
    return Price(best["price"], product["price"], best["sale"], best["ends"])
