"""The price of a product at a given time."""

from typing import Any, NamedTuple

from common.public_pages import limit_life
from mirror import Record


class Price(NamedTuple):
    """cents: the current price of one copy. was: the usual price, if it is higher. sale, ends: the sale that lowers the
    price, and its end in seconds since 1970.
    """

    cents: int
    was: int | None = None
    sale: int | None = None
    ends: float | None = None


def limit_life_of_page(product: Record | Any, moment: float) -> None:
    """Let the page that is being rendered end with the price that it shows at ``moment``."""
    changes = [time - moment for sale in product["sales"] for time in (sale["starts"], sale["ends"]) if time > moment]
    if changes:
        limit_life(min(changes))


def get_price_at(product: Record | Any, moment: float) -> Price:
    """Return the price of a product (a record) at ``moment``, in seconds since 1970.

    It is the lowest price of the current sales, if that is below the usual price.
    """
    on = [sale for sale in product["sales"] if sale["starts"] <= moment < sale["ends"]]
    best = min(on, key=lambda sale: (sale["price"], sale["ends"]), default=None)
    if best is None or best["price"] >= product["price"]:
        return Price(product["price"])
    return Price(best["price"], product["price"], best["sale"], best["ends"])
