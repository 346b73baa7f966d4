"""Also bought: products that the buyers of a product bought more often than chance explains.

After B. Smith and G. Linden, "Two Decades of Recommender Systems at Amazon.com", IEEE Internet Computing 21 (3), 2017.
Each buyer c of X made |c| other purchases, and each of these could have been Y. By chance alone the expected number of
buyers of both is

    E = sum over the buyers c of X of 1 - (1 - P(Y)) ** |c|         P(Y): Y's share of all purchases

Unlike the share of buyers, this allows for customers who buy much. N is the observed number. The paper weighs N - E by
1 / sqrt(E), which lies between the difference, where bestsellers fill every list, and the ratio, where rare products
do.

Two details differ because they predict better. The root is the fifth root. P(Y) is the share of the purchases of
customers with more than one product, because no other customer can have bought both. The score is also divided by
n ** (4/5), where n is the number of buyers of X, so that scores of different X can be compared and added.

Measured on 399,333 ratings of goodbooks in the order of time, as the share of purchases that the ten best books name,
for a basket and for the last book: cosine 0.239 and 0.266, the paper 0.245 and 0.258, the fifth root 0.259 and 0.272,
with the second detail 0.262 and 0.274. The tenth root is as good for one book (0.276), but prefers bestsellers to the
next volumes of a series. ``tests/bench/recommend.py`` compares with another library.
"""

from typing import Final, NamedTuple

import numpy as np

from shop.recommend.history import IntArray, Purchases

MIN_COMMON_BUYERS: Final = 5  # smallest number of buyers of both; fewer may be chance, and could reveal individuals
MAX_RECOMMENDATIONS: Final = 64
ROOT_EXPONENT: Final = 0.2
BUYERS_PER_BATCH: Final = 50_000  # buyers whose baskets are in memory at once


class AlsoBought(NamedTuple):
    """A product by its number. score: the strength of the relation. both: the number of customers who bought both
    products.
    """

    product: int
    score: float
    both: int


def find_also_bought(history: Purchases, product: int) -> list[AlsoBought]:
    """Return the best products for the product with this number, best first; among equals, the one with fewer buyers
    first.
    """
    buyers, baskets = history.buyers.of(product), history.baskets
    together = np.zeros(len(history.products), np.int64)
    for start in range(0, len(buyers), BUYERS_PER_BATCH):
        places = baskets.find_indices(buyers[start : start + BUYERS_PER_BATCH])
        together += np.bincount(baskets.values[places], minlength=len(together))
    together[product] = 0
    others = np.flatnonzero(together >= MIN_COMMON_BUYERS)
    if not len(others):
        return []
    expected = _compute_expected(history, baskets.sizes[buyers] - 1, others)
    score = (together[others] - expected) / (expected**ROOT_EXPONENT * len(buyers) ** (1 - ROOT_EXPONENT))
    order = np.lexsort((history.buyers.sizes[others], -score))[:MAX_RECOMMENDATIONS]
    return [
        AlsoBought(int(others[at]), round(float(score[at]), 6), int(together[others[at]]))
        for at in order
        if score[at] > 0
    ]


def _compute_expected(
    history: Purchases, rest: IntArray, others: IntArray
) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """Return the expected number of customers who bought each of ``others`` by chance.

    rest: for each customer, the number of other products bought.
    """
    share = history.shared[others] / history.shared.sum()
    sizes, people = np.unique(rest, return_counts=True)
    none = np.exp(sizes[:, None] * np.log1p(-share)[None, :])
    return people @ (1 - none)
