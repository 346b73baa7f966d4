"""``/metrics``: access, cost, and the answers while a part is away."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings as site
from django.core.checks import run_checks
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from mirror.redis.recorder import record
from shop.models import Product
from tests.support import warm_mirrors
from tests.support.fixtures import use_broker
from tests.support.servers import RedisServer
from tests.support.shop.page_cache import Made, get_page, made, page_path, product
from tests.support.site.metrics import scrape

__all__ = ["made", "product"]
MAX_STATEMENTS: Final = 5 if connection.vendor == "sqlite" else 6
MAX_ROUND_TRIPS: Final = 7  # to the state and the cache; one more to the broker
TOKEN: Final = "a token of the monitoring"
COUNT: Final = """
import os
from prometheus_client import Counter, Histogram
count, seconds = Counter("things", "Things.", ["kind"]), Histogram("thing_seconds", "Times.")
for process in range(2):
    if os.fork() == 0:
        count.labels("a").inc(2)
        seconds.observe(1)
        os._exit(0)
    os.wait()
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from config.metrics.processes import merge_ended
folder = os.environ["PROMETHEUS_MULTIPROC_DIR"]
ended = os.fork()
if ended == 0:
    os._exit(0)
os.wait()
open(f"{folder}/counter_{ended}.db", "x").close()  # of a process that ended, and counted nothing
for when in range(2):
    count.labels("b").inc()
    merge_ended(folder)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    print(registry.get_sample_value("things_total", {"kind": "a"}))
    print(registry.get_sample_value("things_total", {"kind": "b"}))
    print(registry.get_sample_value("thing_seconds_count"))
print(len([name for name in os.listdir(folder) if str(os.getpid()) not in name]))
"""


def names(samples: dict[str, float]) -> set[str]:
    return {name.partition("{")[0] for name in samples}


def count(samples: dict[str, float], view: str, status: int) -> float:
    return samples.get(f'diptych_requests_total{{status="{status}",view="{view}"}}', 0)


@pytest.mark.django_db
def test_other_addresses_are_refused_without_the_token(settings: Settings) -> None:
    settings.STATUS_TOKEN = TOKEN
    assert Client().get("/metrics").status_code == 200
    assert Client(REMOTE_ADDR="::ffff:127.0.0.1").get("/metrics").status_code == 200
    for address in ("192.0.2.1", "::2", "", "unix"):
        assert Client(REMOTE_ADDR=address).get("/metrics").status_code == 403
        assert Client(REMOTE_ADDR=address).get("/metrics", headers={"authorization": TOKEN}).status_code == 403
    given = {"authorization": f"Bearer {TOKEN}"}
    assert Client(REMOTE_ADDR="192.0.2.1").get("/metrics", headers=given).status_code == 200
    settings.METRICS_NETWORKS = [ip_network("192.0.2.0/24")]
    assert Client(REMOTE_ADDR="192.0.2.1").get("/metrics").status_code == 200
    assert Client().get("/metrics").status_code == 403


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "x-real-ip"])
def test_forwarded_requests_do_not_count_as_local(settings: Settings, header: str) -> None:
    assert Client().get("/metrics", headers={header: "127.0.0.1"}).status_code == 403
    settings.PROXY_COUNT = 1
    assert Client().get("/metrics", headers={"x-forwarded-for": "192.0.2.1"}).status_code == 403
    assert Client().get("/metrics", headers={"x-forwarded-for": "127.0.0.1, 192.0.2.1"}).status_code == 403


def test_check_warns_of_metrics_that_are_open_to_the_world(settings: Settings) -> None:
    def find() -> set[str]:
        found = run_checks(tags=["security"], include_deployment_checks=True)
        return {str(message.id) for message in found} & {"site.W010"}

    assert not find()
    settings.METRICS_NETWORKS = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]
    assert not find()
    for text in ("0.0.0.0/0", "128.0.0.0/1", "::/0"):
        settings.METRICS_NETWORKS = [ip_network(text)]
        assert find() == {"site.W010"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.only_on("single")  # it counts the commands or round trips of one Redis
def test_a_scrape_has_few_statements_and_round_trips(redis: object) -> None:
    warm_mirrors.rebuild()
    scrape()
    with record() as seen:
        samples = scrape()
    assert len(seen.sql) <= MAX_STATEMENTS, seen.sql
    assert seen.round_trips <= MAX_ROUND_TRIPS, seen.commands
    assert samples['diptych_redis_up{server="state"}'] == samples['diptych_redis_up{server="broker"}'] == 1
    assert samples['diptych_redis_memory_bytes{server="cache"}'] > 0
    assert samples['diptych_queue_length{queue="relay"}'] >= 0
    assert samples["mirror_up"] == 1


@pytest.mark.django_db
def test_requests_are_counted_by_view_and_status() -> None:
    wanted = [("healthz", 200), ("unresolved", 404), ("static", 404), ("social:person", 404)]
    before = scrape()
    for path in ("/healthz", "/no-such/page", "/static/no-such-file.css", "/u/no-such-reader/"):
        Client().get(path)
    after = scrape()
    assert [count(after, *each) - count(before, *each) for each in wanted] == [1, 1, 1, 1]
    assert after['diptych_request_seconds_count{view="healthz"}'] >= 1
    assert not [name for name in after if "no-such" in name]


@pytest.mark.only_on("sqlite")
def test_cached_pages_are_counted_with_their_view(product: Product, made: Made) -> None:
    path, counted = page_path(product), ("diptych_page_cache_lookups_total", "diptych_page_cache_misses_total")
    seen = []
    for _ in range(2):
        before = scrape()
        get_page(Client(), path)
        after = scrape()
        seen.append([after[name] - before[name] for name in counted])
        assert count(after, "catalog:book", 200) - count(before, "catalog:book", 200) == 1
    assert seen == [[1, 1], [1, 0]]


@pytest.mark.django_db(transaction=True)
def test_redis_away_is_reported(redis_server: RedisServer) -> None:
    redis_server.kill()
    samples = scrape()
    for server in ("state", "cache", "broker"):
        assert samples[f'diptych_redis_up{{server="{server}"}}'] == 0
    assert samples["mirror_up"] == 1
    missing = {"diptych_redis_memory_bytes", "diptych_queue_length", "mirror_warm", "mirror_visits_waiting"}
    assert missing.isdisjoint(names(samples))
    assert {"mirror_pending", "diptych_requests_total"} <= names(samples)


@pytest.mark.django_db(transaction=True)
def test_broker_away_is_reported(redis_server: RedisServer) -> None:
    with RedisServer() as broker:
        use_broker(f"redis+socket://{broker.socket}?virtual_host=2")
        assert scrape()['diptych_redis_up{server="broker"}'] == 1
        broker.kill()
        samples = scrape()
    assert samples['diptych_redis_up{server="broker"}'] == 0
    assert samples['diptych_redis_up{server="state"}'] == 1
    assert "diptych_queue_length" not in names(samples)


@contextmanager
def closed_database() -> Generator[None, None, None]:
    """Point this process's connection to a database that does not exist."""
    connection.close()
    known = connection.settings_dict.copy()
    connection.settings_dict |= {"NAME": "/missing/database", "PORT": "1", "OPTIONS": {}}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(known)


@pytest.mark.django_db(transaction=True)
def test_sql_away_is_reported() -> None:
    with closed_database():
        samples = scrape()
    assert samples["mirror_up"] == 0
    assert {"mirror_pending", "mirror_warm"}.isdisjoint(names(samples))
    assert samples['diptych_redis_up{server="cache"}'] == samples['diptych_redis_writable{server="state"}'] == 1
    assert scrape()["mirror_up"] == 1


@pytest.mark.only_on("sqlite")
def test_counts_of_ended_processes_stay_and_their_files_go(tmp_path: Path) -> None:
    env = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", COUNT]
    done = subprocess.run(command, cwd=site.BASE_DIR, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["4.0", "1.0", "2.0", "4.0", "2.0", "2.0", "2"], done.stderr
