"""Daemons of the row cache are killed, run twice, interrupted, or lose Redis."""

import re
import signal
import time
from functools import partial
from typing import Any

import orjson
from redis import Redis

from shop import keys
from shop.models import Product
from shop.rowcache import rows
from tests.support.faults.crew import Crew
from tests.support.servers import PATIENCE_SECONDS, RedisServer, wait_until
from tests.support.shop.make import make_product

DAEMON = "django rowcache run"


def row(state: Redis, product: Product) -> dict[str, Any] | None:
    raw: Any = state.get(keys.cached_row(product.pk))
    return orjson.loads(raw) if raw else None


def is_cached(state: Redis, product: Product) -> bool:
    return row(state, product) is not None


def is_not_cached(state: Redis, product: Product) -> bool:
    return row(state, product) is None


def make_scheduled(delay: float, number: int = 1) -> list[Product]:
    products = [make_product(stock=7) for _ in range(number)]
    rows.schedule_rows({product.pk: delay for product in products})
    return products


def test_rows_expire_after_their_daemon_is_killed_and_another_writes_them_again(crew: Crew, state: Redis) -> None:
    [product] = make_scheduled(0.5)
    crew.start("daemon", DAEMON)
    wait_until(partial(is_cached, state, product), "a row")
    crew.kill("daemon")
    wait_until(partial(is_not_cached, state, product), "its end")
    assert state.zscore(keys.row_schedule(), str(product.pk)) is not None
    crew.start("daemon", DAEMON)
    wait_until(partial(is_cached, state, product), "another daemon's row")


def test_two_daemons_write_each_row_once_and_exit_cleanly_on_sigint(crew: Crew, state: Redis) -> None:
    products, delay = make_scheduled(0.5, 10), 0.5
    start = time.monotonic()
    children = [crew.start(name, DAEMON) for name in ("one", "other")]
    wait_until(lambda: all("Ctrl-C" in crew.said(name) for name in ("one", "other")), "both at work")
    for _ in range(4):
        newest = max((found["cached_at"] for found in _rows(state, products)), default=0.0)
        wait_until(partial(_has_newer, state, products, newest), "newer rows")
    for child in children:
        child.send_signal(signal.SIGINT)
    assert [child.wait(PATIENCE_SECONDS) for child in children] == [0, 0]
    rounds = (time.monotonic() - start) / delay + 1
    written = [int(found) for name in ("one", "other") for found in re.findall(r"(\d+) rows? cached", crew.said(name))]
    assert len(written) == 2
    assert 0 < sum(written) <= rounds * len(products)


def _rows(state: Redis, products: list[Product]) -> list[dict[str, Any]]:
    return [found for product in products if (found := row(state, product))]


def _has_newer(state: Redis, products: list[Product], moment: float) -> bool:
    return any(found["cached_at"] > moment for found in _rows(state, products))


def test_daemon_waits_while_redis_is_down_and_continues(crew: Crew, state: Redis, redis_server: RedisServer) -> None:
    [product] = make_scheduled(0.5)
    child = crew.start("daemon", DAEMON)
    wait_until(partial(is_cached, state, product), "a row")
    redis_server.kill()
    wait_until(lambda: "Rows wait" in crew.said("daemon"), "the daemon to notice")
    redis_server.start()
    state.flushdb()
    rows.schedule_row(product.pk, 0.5)
    wait_until(partial(is_cached, state, product), "a row again")
    assert child.poll() is None
