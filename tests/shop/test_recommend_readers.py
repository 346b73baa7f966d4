"""A volume of a series recommends other volumes, from real readers' ratings."""

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from shop.recommend.also_bought import find_also_bought
from shop.recommend.history import Purchases
from tests.support import real_data, samples
from tests.support.catalog.goodbooks import read_rows

SERIES = re.compile(r"\(([^()]+?),? #[\d.-]+\)$")  # "A Winter Moth (The Moth Gate, #1)"


def _bought(folder: Path) -> Purchases:
    """Return each rating as a purchase, in order."""
    rows = np.loadtxt(folder / "ratings.csv", np.int64, delimiter=",", skiprows=1)
    return Purchases.of(rows[:, 0], rows[:, 1], np.arange(len(rows)))


def _series(folder: Path, books: set[int]) -> dict[str, list[int]]:
    """Return the series with at least two volumes among these books."""
    found: dict[str, list[int]] = defaultdict(list)
    for row in read_rows(folder, "books.csv"):
        if int(row["book_id"]) in books and (series := SERIES.search(row["title"])):
            found[series[1]].append(int(row["book_id"]))
    return {name: volumes for name, volumes in found.items() if len(volumes) > 1}


@pytest.mark.parametrize(
    ("folder", "sizes"),
    [
        pytest.param(samples.GOODBOOKS, (2913, 843, 59, 4), id="sample"),
        pytest.param(real_data.GOODBOOKS, (399_333, 46_965, 677, 11), id="real", marks=pytest.mark.real_data),
    ],
)
def test_each_volume_of_a_series_recommends_another_among_its_first_three(
    folder: Path, sizes: tuple[int, int, int, int]
) -> None:
    bought = _bought(folder)
    ids = bought.products.tolist()
    series = _series(folder, set(ids))
    assert (len(bought), len(bought.people), len(ids), len(series)) == sizes

    def leads_on(volume: int, volumes: list[int]) -> bool:
        first = find_also_bought(bought, ids.index(volume))[:3]
        return any(ids[other.product] in volumes for other in first)

    missed = {name: [v for v in volumes if not leads_on(v, volumes)] for name, volumes in series.items()}
    # The plain difference would favour bestsellers and miss volumes of the least read series.
    assert {name: volumes for name, volumes in missed.items() if volumes} == {}
