"""Bought after a view: products that many viewers of a product bought within a week.

Viewers are logged-in users, because the purchases of other visitors are unknown.
"""

from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from shop.recommend.also_bought import MAX_RECOMMENDATIONS
from shop.recommend.history import ProductViews, Purchases

WINDOW_SECONDS: Final = 7 * 86_400  # seconds
MIN_VIEWERS: Final = 50  # smallest number of viewers; fewer mean little, and could reveal individuals
WILSON_Z: Final = 1.96  # the true share is above the bound with a probability of 39 in 40


class BoughtAfterView(NamedTuple):
    """A product by its number.

    score: the lower bound of its share of buyers. percent: that share, rounded. viewers: the number of viewers it
    refers to.
    """

    product: int
    score: float
    percent: int
    viewers: int


def find_bought_after_view(history: Purchases, views: ProductViews, product_id: int) -> list[BoughtAfterView]:
    """Return the best products for the viewed product, best first; among equals, the lower number first.

    Products with a share below half a percent are left out, and so is the viewed product itself.
    """
    if views.viewer_count < MIN_VIEWERS or not len(history):
        return []
    counts = _count_buyers_after_view(history, views)
    counts[history.products == product_id] = 0
    found = []
    # Half a percent rounds up to one; smaller shares would be shown as 0%.
    for other in np.flatnonzero(counts * 200 >= views.viewer_count):
        bought = int(counts[other])
        percent = (200 * bought + views.viewer_count) // (2 * views.viewer_count)
        found.append(
            BoughtAfterView(
                int(other), round(wilson_lower_bound(bought, views.viewer_count), 6), percent, views.viewer_count
            )
        )
    return sorted(found, key=lambda one: (-one.score, one.product))[:MAX_RECOMMENDATIONS]


def _count_buyers_after_view(
    history: Purchases, views: ProductViews
) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """Return the number of distinct users who bought each product within a week of a view."""
    at = np.searchsorted(history.people, views.people)
    known = at < len(history.people)
    known[known] = history.people[at[known]] == views.people[known]
    customers, since = at[known], views.time[known]
    made = history.by_customer
    purchases = made.values[made.find_indices(customers)]
    passed = history.time[purchases] - np.repeat(since, made.sizes[customers])
    purchases = purchases[(passed >= 0) & (passed <= WINDOW_SECONDS)]
    width = len(history.products)
    pairs = np.unique(history.customer[purchases].astype(np.int64) * width + history.product[purchases])
    return np.bincount(pairs % width, minlength=width)


def wilson_lower_bound(found: int, of: int) -> float:
    """Return the lower bound of Wilson's interval for the share ``found`` of ``of``.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    share, square = found / of, WILSON_Z * WILSON_Z / of
    return (share + square / 2 - WILSON_Z * sqrt((share * (1 - share) + square / 4) / of)) / (1 + square)
