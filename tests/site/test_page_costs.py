"""Redis round trips and SQL statements of every page, as listed in docs/page-costs.md.

Each page is requested four times with warm mirrors, and the last request counts, so caches are filled.
``WRITE=1 python -m pytest tests/site/test_page_costs.py`` writes the list.
"""

import os
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings
from pytest_django.fixtures import Settings

from catalog.local.index import local_copy
from common import clock
from mirror.redis.recorder import record
from shop.book_views import decay
from shop.pagecache import readers
from tests.support.matrix.addresses import find_addresses
from tests.support.matrix.browser import Browser
from tests.support.matrix.world import MatrixWorld
from tests.support.servers import PATIENCE_SECONDS
from tests.support.social.timelines import warm_up

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.only_on("single"),
]  # it counts the commands or round trips of one Redis

LIST: Final = Path(settings.BASE_DIR) / "docs" / "page-costs.md"
ROW: Final = re.compile(r"^- ", re.MULTILINE)
Cost = tuple[int, int]  # round trips, SQL statements


@pytest.mark.slow(10)
@pytest.mark.only_on("sqlite")  # counts of SQL are the same on PostgreSQL except for savepoints
def test_pages_cost_as_listed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each request may renew the plan of its page, however fast they follow.
    monkeypatch.setattr(readers, "PLAN_SECONDS", 0.0)
    began_at, ticks = clock.now(), count()
    # A page with a countdown lives for a second, and each request has a time of its own.
    settings.CLOCK = lambda: began_at + timedelta(microseconds=next(ticks))
    rows = _format_rows(dict(_measure(MatrixWorld())))
    text = LIST.read_text()
    start = ROW.search(text)
    assert start
    if os.environ.get("WRITE"):
        LIST.write_text(text[: start.start()] + "".join(rows))
    assert text[start.start() :].splitlines(keepends=True) == rows


def _format_rows(pages: dict[str, dict[str, Cost]]) -> list[str]:
    """Return the lines of a list with an item for all pages of equal costs, the cheapest ones first."""
    groups: defaultdict[tuple[Cost | None, ...], list[str]] = defaultdict(list)
    for page, costs in pages.items():
        groups[costs.get("reader"), costs.get("anonymous")].append(page)
    rows = []
    for reader, anonymous in sorted(groups, key=lambda costs: [cost or (-1, 0) for cost in costs]):
        names = ", ".join(f"`{page}`" for page in sorted(groups[reader, anonymous]))
        item = f"- {_format_cost(anonymous)}, {_format_cost(reader)}: {names}"
        rows += textwrap.wrap(item, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [f"{row}\n" for row in rows]


def _format_cost(cost: Cost | None) -> str:
    return "none" if cost is None else f"{cost[0]}+{cost[1]}"


def _measure(world: MatrixWorld) -> Iterator[tuple[str, dict[str, Cost]]]:
    """Yield the name of each page outside the admin and its costs by kind of visitor."""
    people = {"anonymous": Browser(), "reader": world.browser}
    warm_up(world.owner)
    assert decay.rebuild_popularity()
    assert local_copy.ensure_loaded(PATIENCE_SECONDS)  # a thread loads it, and SQL answers meanwhile
    done: set[str] = set()
    for address in find_addresses(world):
        if address.is_of_admin or address.name in done:
            continue
        costs = {}
        for person, browser in people.items():
            for _ in range(3):
                browser.ask("GET", address.path)
            with record() as seen:
                response = browser.ask("GET", address.path)
            if response.status_code == 200 and response.headers["Content-Type"].startswith(
                ("text/html", "application/atom+xml")
            ):
                costs[person] = (seen.round_trips, len(seen.sql))
        if costs:
            done.add(address.name)
            yield address.name, costs
