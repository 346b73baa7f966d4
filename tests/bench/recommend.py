"""Measure recommendations from real ratings: ``python -m tests.bench.recommend [--data DIR] [--json]``.

For the hit rate, the last purchase of every user with two or more purchases is held out (the files are in order of
time). Ten books are recommended from the rest: by adding the scores of all purchases ("basket"), and on the page of the
last purchase ("page"). The other side is item-item cosine of the library implicit. The duration of a rebuild is
measured too.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from demo import environment
from tests.bench import implicit_side
from tests.bench.table import Row, render
from tests.support.real_data import GOODBOOKS
from tests.support.servers import temporary_folder
from tests.support.servers.redis import RedisServer

TEN: Final = 10
CHUNK: Final = 4000  # users whose scores are added at once
AIM: Final = 60.0  # target in seconds for a rebuild
Array = np.ndarray[Any, np.dtype[Any]]


def main() -> int:
    """Run the benchmarks and print the table. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recommend")
    parser.add_argument("--data", type=Path, default=GOODBOOKS, help="a folder in goodbooks format")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    folder = temporary_folder()
    os.environ["DATABASE_URL"] = f"sqlite:///{folder / 'bench.sqlite3'}"
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["REDIS_PREFIX"] = ""
    os.environ.update(environment.generate_environment("http://127.0.0.1"))
    with RedisServer() as server:
        os.environ.update(server.environment())
        import django

        django.setup()
        rows = [row.as_dict() for row in (*_quality(options.data, folder), *_times(options.data))]
    print(json.dumps(rows) if options.json else render(rows))
    return 1 if any(row["met"] == "NO" for row in rows) else 0


class Split(NamedTuple):
    """Past purchases, and for each held-out user the last past purchase and the held-out one.

    users, items: one entry per past purchase. who, last, then: one entry per held-out user. All are numbered from 0.
    """

    users: Array
    items: Array
    who: Array
    last: Array
    then: Array


def split_of(data: Path) -> Split:
    """Read the ratings and hold out the last purchase of every user with two or more."""
    rows = np.loadtxt(data / "ratings.csv", np.int64, delimiter=",", skiprows=1)
    users, items = (np.unique(column, return_inverse=True)[1] for column in (rows[:, 0], rows[:, 1]))
    order = np.argsort(users, kind="stable")
    users, items = users[order], items[order]
    ends = np.flatnonzero(np.append(users[1:] != users[:-1], True))
    ends = ends[(ends > 0) & (users[ends - 1] == users[ends])]
    left = np.ones(len(users), bool)
    left[ends] = False
    return Split(users[left], items[left], users[ends], items[ends - 1], items[ends])


def _scores(split: Split) -> tuple[Array, Array]:
    """Return the scores of the shop, from each book (row) to 64 others, and the matrix of users and purchases."""
    from shop.recommend.also_bought import find_also_bought
    from shop.recommend.history import Purchases

    history = Purchases.of(split.users, split.items, np.arange(len(split.users)))
    size = int(max(split.items.max(), split.then.max())) + 1
    scores = np.zeros((size, size), np.float32)
    for number, item in enumerate(history.products):
        for other, score, _ in find_also_bought(history, number):
            scores[item, history.products[other]] = score
    bought = np.zeros((int(split.users.max()) + 1, size), bool)
    bought[split.users, split.items] = True
    return scores, bought


def _hit_rates(split: Split, scores: Array, bought: Array) -> tuple[float, float]:
    """Return the hit rates of baskets and of pages."""
    baskets = 0
    for start in range(0, len(split.who), CHUNK):
        mine = bought[split.who[start : start + CHUNK]]
        found = mine.astype(np.float32) @ scores
        found[mine] = 0
        baskets += int(_hits(found, split.then[start : start + CHUNK]).sum())
    pages = _hits(scores[split.last], split.then)
    return baskets / len(split.who), float(pages.mean())


def _hits(scores: Array, then: Array) -> Array:
    """Return whether each held-out book is among the ten best and has a positive score."""
    best: Array = np.argsort(-scores, axis=1, kind="stable")[:, :TEN]
    hits: Array = ((best == then[:, None]) & (np.take_along_axis(scores, best, 1) > 0)).any(axis=1)
    return hits


def _quality(data: Path, folder: Path) -> Iterator[Row]:
    split = split_of(data)
    start = time.perf_counter()
    scores, bought = _scores(split)
    seconds = time.perf_counter() - start
    basket, page = _hit_rates(split, scores, bought)
    path = folder / "split.npz"
    np.savez(path, **split._asdict())
    other = implicit_side.run(path)
    if isinstance(other, str):
        print(f"beside implicit: {other}", file=sys.stderr)
        return
    for what, ours, theirs in (("basket", basket, other["basket"]), ("page", page, other["page"])):
        yield Row(
            f"recommendations: hit rate at 10, {what}",
            "implicit, item-item cosine (the times are those of working out)",
            f"{len(split.who)} held out: {ours:.4f} beside {theirs:.4f}",
            seconds,
            other["seconds"],
            ours / theirs,
            1.0,
        )


def _times(data: Path) -> Iterator[Row]:
    from django.core.management import call_command

    from shop.recommend.build import rebuild_recommendations

    call_command("migrate", verbosity=0)
    start = time.perf_counter()
    call_command("import_goodbooks", str(data), stdout=sys.stderr)
    print(f"import_goodbooks, all of it: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    start = time.perf_counter()
    done = rebuild_recommendations()
    seconds = time.perf_counter() - start
    sizes = f"{done.purchases} purchases, {done.products} products, {done.changed} rows (SQLite)"
    yield Row("recommendations: rebuild", f"{AIM:.0f} s", sizes, seconds, AIM, AIM / seconds, 1.0)
    start = time.perf_counter()
    done = rebuild_recommendations()
    seconds = time.perf_counter() - start
    sizes = f"{done.purchases} purchases, {done.changed} rows changed (SQLite)"
    yield Row("recommendations: rebuild, again", f"{AIM:.0f} s", sizes, seconds, AIM, AIM / seconds, 1.0)


if __name__ == "__main__":
    sys.exit(main())
