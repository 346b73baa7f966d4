"""The sweep drains, requests rebuilds of cold mirrors, purges old changes, and writes the clock."""

import logging
from typing import Any

import pytest
from redis import Redis

from mirror import registry, tasks
from mirror.models import Change
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import client, relay_client
from mirror.redis.lease import lease
from mirror.redis.recorder import record
from mirror.relay import drains, send
from mirror.upkeep import sweeper
from tests.projects.mirrortest.models import Odd
from tests.support.mirror import world
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the mirrors whose rebuild is requested."""
    found: list[str] = []
    monkeypatch.setattr(send, "rebuild", found.append)
    return found


def test_changes_without_hints_are_drained() -> None:
    Odd.objects.bulk_create([Odd(code="a"), Odd(code="b")])
    assert sweeper.sweep() == 2
    assert tasks.sweep() == 0
    assert not Change.objects.pending().exists()


def test_rebuilds_are_requested_for_cold_mirrors_only(asked: list[str], redis: Redis) -> None:
    world.warm()
    redis.delete(naming.marker("titem"))
    sweeper.sweep()
    assert asked == ["titem"]


def test_an_idle_sweep_reads_all_markers_at_once() -> None:
    world.warm()
    sweeper.sweep()
    with record() as seen:
        sweeper.sweep()
    own = {naming.marker(mirror.name) for mirror in registry.all_mirrors()}
    assert sum(not own.isdisjoint(command.named()) for command in seen.commands) == 2  # replay, cold mirrors


def test_clock_is_written_after_the_drain(redis: Redis) -> None:
    before = changes.clock()
    sweeper.sweep()
    written: Any = redis.get(naming.clock())
    assert before <= float(written) <= changes.clock()


def test_old_changes_are_purged() -> None:
    for day in (1, 2):
        Change.objects.create(mirror="titem", key="1", applied_at=f"2020-01-0{day}T00:00:00Z")
    sweeper.sweep()
    assert [change.applied_at.day for change in Change.objects.all()] == [2]  # the last one is the witness


def test_second_sweep_does_nothing_while_the_lease_is_held() -> None:
    Odd.objects.create(code="a")
    with lease(client(), "sweep", 3600):
        assert sweeper.sweep() == 0
    assert Change.objects.pending().exists()


def test_sweep_without_redis_logs_a_warning_and_succeeds_later(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    Odd.objects.create(code="a")
    redis_server.kill()
    with caplog.at_level(logging.WARNING, "mirror"):
        assert sweeper.sweep() == 0
    assert "Redis is away" in caplog.text
    redis_server.start()
    assert sweeper.sweep() == 1


def test_error_of_a_command_is_raised(redis: Redis) -> None:
    redis.sadd(naming.clock(), "x")
    redis.sadd(naming.marker(registry.all_mirrors()[0].name), "x")
    with pytest.raises(Exception, match="WRONGTYPE"):
        sweeper.sweep()


def test_tasks_without_redis_leave_changes_pending_and_log_the_outage_once(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    Odd.objects.create(code="a")
    redis_server.kill()
    with caplog.at_level(logging.WARNING, "mirror"):
        assert [tasks.rebuild("t'odd"), tasks.rebuild("t'odd"), tasks.drain_keys("t'odd", ["a"])] == [0, 0, 0]
    assert caplog.text.count("Redis is away") == 1
    assert Change.objects.pending().exists()


def test_drain_task_drains_only_its_keys() -> None:
    Odd.objects.bulk_create([Odd(code="a"), Odd(code="b")])
    assert tasks.drain_keys("t'odd", ["a"]) == 1
    assert drains.drain_all(redis=relay_client()) == 1
