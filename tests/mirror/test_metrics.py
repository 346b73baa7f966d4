"""Metrics: counts of the process as a signal, gauges from the status, and both for Prometheus."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from django.db import DatabaseError
from prometheus_client import generate_latest
from redis import Redis

from mirror import registry
from mirror.metrics import counted, gauges, prometheus, round_trip_ended
from mirror.models import Change, State
from mirror.read import prefetch, reads
from mirror.read.prefetch import Reading
from mirror.redis import naming
from mirror.redis.clients import client, relay_client
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.relay.sql_only import sql_only
from mirror.warm import cold
from tests.projects.mirrortest.models import Item
from tests.projects.mirrortest.visits import look
from tests.support.mirror import world
from tests.support.mirror.command import ROOT
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
Counts = Counter[tuple[str, ...]]
MULTI: Final = """
import os
import django
django.setup()
from mirror.utils.counters import count_fallback
from mirror.metrics import prometheus
if os.fork() == 0:
    count_fallback(["titem"], "cold")
    os._exit(0)
os.wait()
count_fallback(["titem"], "cold")
registry = prometheus.get_registry()
print(registry.get_sample_value("mirror_fallbacks_total", {"mirror": "titem", "reason": "cold"}))
print(type([*registry._collector_to_names][-1]).__name__)
"""


@pytest.fixture
def counts() -> Iterator[Counts]:
    """Collect what this process counts."""
    seen: Counts = Counter()

    def add(*, name: str, value: int, labels: Mapping[str, str], **kwargs: object) -> None:
        seen[name, *labels.values()] += value

    counted.connect(add)
    yield seen
    counted.disconnect(add)


def read() -> Reading | None:
    return reads.read(["titem"], lambda pipe: pipe.get("titem:1"))


def fetch() -> prefetch.Prefetched | None:
    return prefetch.fetch(prefetch.Asked.of(["titem"], lambda pipe: pipe.get("titem:1")))


@pytest.mark.parametrize("ask", [read, fetch])
def test_fallbacks_are_counted_by_reason(ask: Any, counts: Counts, redis_server: RedisServer) -> None:
    redis = relay_client()
    world.warm_own()
    counts.clear()
    assert ask() is not None
    assert not counts
    with sql_only():
        assert ask() is None
    redis.set(naming.quarantined(), '[["titem", "", "1"]]')
    assert ask() is None
    redis.delete(naming.quarantined())
    cold.make_cold("titem", redis)
    assert ask() is None
    redis_server.kill()
    assert ask() is None
    reasons = ("own_write", "doubt", "cold", "unavailable")
    assert counts == {("fallbacks", "titem", reason): 1 for reason in reasons}


def test_applied_changes_are_counted_once(counts: Counts) -> None:
    world.warm_own()
    Item.objects.create(name="a")
    counts.clear()
    drains.drain_all()
    drains.drain_all()
    assert counts["applied", "titem"] == 1


def test_gauges_show_the_state_of_each_mirror(redis: Redis) -> None:
    world.warm_own()
    Item.objects.create(pk=1, name="a")
    Change.objects.create(mirror="titem", key="2", quarantined_at="2026-01-01T00:00Z")
    State.objects.filter(mirror="titem").update(differences=3)
    look(redis, "a")
    found = {(g.name, *g.labels.values()): g.value for g in gauges.measure()}
    assert {name.removeprefix("mirror_"): found[name, "titem"] for name, mirror in found if mirror == "titem"} == {
        "warm": 1,
        "pending": 1,
        "lag_seconds": found["mirror_lag_seconds", "titem"],
        "quarantined": 1,
        "differences": 3,
    }
    assert found["mirror_visits_waiting", "tpage"] == 1
    redis.delete(naming.heartbeat())
    in_doubt = [g.value for g in gauges.measure() if g.name == "mirror_in_doubt"]
    assert set(in_doubt) == {1.0}


def test_age_of_the_oldest_pending_push_is_the_lag_of_the_fan_out() -> None:
    [mirror, source] = next(pair for pair in registry.pushed() if pair[0].startswith("t"))
    Change.objects.create(mirror=mirror, key="1", created_at="2026-01-01T00:00Z")

    def measure_lag() -> dict[str, float]:
        return {g.labels["mirror"]: g.value for g in gauges.measure() if g.name == "mirror_fanout_lag_seconds"}

    assert measure_lag() == dict.fromkeys({name for name, _ in registry.pushed()}, 0.0)
    Change.objects.create(mirror=mirror, source=source, key="2", created_at="2026-01-01T00:00Z")
    assert [name for name, lag in measure_lag().items() if lag] == [mirror]


def test_gauges_of_redis_are_missing_while_it_is_away(redis_server: RedisServer) -> None:
    redis_server.kill()
    missing = {"mirror_warm", "mirror_in_doubt", "mirror_visits_waiting", "mirror_visits_lag_seconds"}
    found = {gauge.name for gauge in gauges.measure()}
    assert missing.isdisjoint(found)
    assert {"mirror_pending", "mirror_lag_seconds", "mirror_quarantined"} <= found


@pytest.mark.only_on("single")  # it counts the commands or round trips of one Redis
def test_each_round_trip_is_timed_once() -> None:
    seen: list[float] = []

    def add(*, seconds: float, **kwargs: object) -> None:
        seen.append(seconds)

    world.warm_own()
    round_trip_ended.connect(add)
    with record() as recording:
        assert read() is not None
        client().get("titem:1")
        pipe = client().pipeline(transaction=False)
        pipe.get("titem:1").get("titem:2").execute()
    round_trip_ended.disconnect(add)
    assert len(seen) == recording.round_trips == 3
    assert min(seen) > 0


def test_prometheus_serves_counters_and_gauges(monkeypatch: pytest.MonkeyPatch) -> None:
    world.warm_own()
    Item.objects.create(name="a")
    drains.drain_all()
    text = generate_latest(prometheus.get_registry()).decode()
    assert 'mirror_applied_total{mirror="titem"}' in text
    assert 'mirror_warm{mirror="titem"} 1.0' in text
    assert "mirror_up 1.0" in text
    assert "mirror_redis_seconds_count" in text

    def fail() -> None:
        raise DatabaseError

    monkeypatch.setattr(prometheus, "measure", fail)
    text = generate_latest(prometheus.get_registry()).decode()
    assert "mirror_up 0.0" in text
    assert "mirror_warm" not in text


@pytest.mark.only_on("sqlite")
def test_processes_are_added_up_in_multi_process_mode(tmp_path: Path) -> None:
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.support.settings", "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", MULTI]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["2.0", "MirrorCollector"], done.stderr
