"""Real readers: who bought a volume of a series is recommended another."""

import csv
import os
import re
from collections import defaultdict

import numpy as np
import pytest
from django.conf import settings

from shop.recommend.bought import also_bought
from shop.recommend.history import Purchases

REAL = settings.BASE_DIR.parent / "shared" / "data" / "goodbooks"
SERIES = re.compile(r"\(([^()]+?),? #[\d.-]+\)$")  # "Persepolis 2: The Story of a Return (Persepolis, #2)"
pytestmark = pytest.mark.skipif(
    not REAL.exists() and "CI" not in os.environ, reason="needs the goodbooks files in ../shared/data/goodbooks"
)


def _bought() -> Purchases:
    """Each rating is a purchase, one after the other."""
    rows = np.loadtxt(REAL / "ratings.csv", np.int64, delimiter=",", skiprows=1)
    return Purchases.of(rows[:, 0], rows[:, 1], np.arange(len(rows)))


def _series(books: set[int]) -> dict[str, list[int]]:
    """The series of which two or more volumes are among these books."""
    found: dict[str, list[int]] = defaultdict(list)
    with (REAL / "books.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if int(row["book_id"]) in books and (series := SERIES.search(row["title"])):
                found[series[1]].append(int(row["book_id"]))
    return {name: volumes for name, volumes in found.items() if len(volumes) > 1}


def test_each_volume_of_a_series_recommends_another_among_its_first_three() -> None:
    bought = _bought()
    ids = bought.products.tolist()
    series = _series(set(ids))
    assert (len(bought), len(bought.people), len(ids), len(series)) == (399_333, 46_965, 677, 11)

    def leads_on(volume: int, volumes: list[int]) -> bool:
        first = also_bought(bought, ids.index(volume))[:3]
        return any(ids[other.product] in volumes for other in first)

    missed = {name: [v for v in volumes if not leads_on(v, volumes)] for name, volumes in series.items()}
    # By the plain difference, where bestsellers come first, the first volume of "Frank McCourt" would miss.
    assert {name: volumes for name, volumes in missed.items() if volumes} == {}
