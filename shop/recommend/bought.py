"""Also bought: what the buyers of a product bought more often than chance has it.

After B. Smith and G. Linden, "Two Decades of Recommender Systems at Amazon.com", IEEE Internet Computing 21 (3), 2017.
Whoever bought X had |c| other purchases, and each of them could have been Y: by chance so many buyers of X bought Y too

    E = sum over the buyers c of X of 1 - (1 - P(Y)) ** |c|         P(Y): Y's share of all purchases

which, other than the share of buyers, allows for those who buy much. N of them did. The paper weighs N - E by
1 / sqrt(E), between the difference, where bestsellers fill every list, and the ratio, where what is rare does.

Two things differ here, because they guess better (docs/decisions.md): the root is the fifth, and P(Y) is the share
of the purchases of those who bought more than one thing: nobody else can have bought both. And the score is divided by
n ** (4/5), n being the buyers of X, so that scores of different X can be compared and added up.
"""

from typing import Final, NamedTuple

import numpy as np

from shop.recommend.history import Ints, Purchases

FLOOR: Final = 5  # customers who bought both: fewer are an accident, and would tell about persons
BEST: Final = 64
ROOT: Final = 0.2
BUYERS: Final = 50_000  # whose baskets are held at once


class Also(NamedTuple):
    """A product (its number), how much it belongs to the other, and how many bought both."""

    product: int
    score: float
    both: int


def also_bought(history: Purchases, product: int) -> list[Also]:
    """The best for the product with this number, best first; of equals that which fewer bought."""
    buyers, baskets = history.buyers.of(product), history.baskets
    together = np.zeros(len(history.products), np.int64)
    for start in range(0, len(buyers), BUYERS):
        places = baskets.places(buyers[start : start + BUYERS])
        together += np.bincount(baskets.values[places], minlength=len(together))
    together[product] = 0
    others = np.flatnonzero(together >= FLOOR)
    if not len(others):
        return []
    expected = _expected(history, baskets.sizes[buyers] - 1, others)
    score = (together[others] - expected) / (expected**ROOT * len(buyers) ** (1 - ROOT))
    order = np.lexsort((history.buyers.sizes[others], -score))[:BEST]
    return [
        Also(int(others[at]), round(float(score[at]), 6), int(together[others[at]])) for at in order if score[at] > 0
    ]


def _expected(history: Purchases, rest: Ints, others: Ints) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """How many of those who bought ``rest`` other products would have bought each of ``others`` by chance."""
    share = history.shared[others] / history.shared.sum()
    sizes, people = np.unique(rest, return_counts=True)
    none = np.exp(sizes[:, None] * np.log1p(-share)[None, :])
    return people @ (1 - none)
