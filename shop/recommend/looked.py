"""Bought after a view: products that many viewers of a product bought within a week."""

from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from shop.recommend.bought import BEST
from shop.recommend.history import Looks, Purchases

WITHIN: Final = 7 * 86_400  # seconds
VIEWERS: Final = 50  # smallest number of viewers; fewer mean little, and could reveal individuals
Z: Final = 1.96  # the true share is above the bound with a probability of 39 in 40


class After(NamedTuple):
    """A product by its number.

    score: the lower bound of its share of buyers. percent: that share, rounded. viewers: the number of viewers it
    refers to.
    """

    product: int
    score: float
    percent: int
    viewers: int


def bought_after(history: Purchases, looks: Looks, product_id: int) -> list[After]:
    """Return the best products for the viewed product, best first; among equals, the lower number first.

    Products with a share below half a percent are left out, and so is the viewed product itself.
    """
    if looks.viewers < VIEWERS or not len(history):
        return []
    counts = _buyers_after(history, looks)
    counts[history.products == product_id] = 0
    found = []
    for other in np.flatnonzero(counts * 200 >= looks.viewers):  # half a percent rounds up to one
        bought = int(counts[other])
        percent = (200 * bought + looks.viewers) // (2 * looks.viewers)
        found.append(After(int(other), round(wilson(bought, looks.viewers), 6), percent, looks.viewers))
    return sorted(found, key=lambda one: (-one.score, one.product))[:BEST]


def _buyers_after(history: Purchases, looks: Looks) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """Return the number of distinct users who bought each product within a week of a view."""
    at = np.searchsorted(history.people, looks.people)
    known = at < len(history.people)
    known[known] = history.people[at[known]] == looks.people[known]
    customers, since = at[known], looks.time[known]
    made = history.by_customer
    purchases = made.values[made.places(customers)]
    passed = history.time[purchases] - np.repeat(since, made.sizes[customers])
    purchases = purchases[(passed >= 0) & (passed <= WITHIN)]
    width = len(history.products)
    pairs = np.unique(history.customer[purchases].astype(np.int64) * width + history.product[purchases])
    return np.bincount(pairs % width, minlength=width)


def wilson(found: int, of: int) -> float:
    """Return the lower bound of Wilson's interval for the share ``found`` of ``of``.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    share, square = found / of, Z * Z / of
    return (share + square / 2 - Z * sqrt((share * (1 - share) + square / 4) / of)) / (1 + square)
