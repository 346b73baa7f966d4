"""The sweep does what was not hinted, asks for rebuilds of what is cold, forgets what is old, and writes the clock."""

import logging
from typing import Any

import pytest
from redis import Redis

from mirror import naming, outbox, registry, relay, send, sweeper, tasks
from mirror.lease import lease
from mirror.models import Change
from mirror.redis import client, relay_client
from tests.support.mirror import world
from tests.support.mirror.app.models import Odd
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed", "no_hints")


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The mirrors whose rebuild was asked for."""
    found: list[str] = []
    monkeypatch.setattr(send, "rebuild", found.append)
    return found


def test_what_was_not_hinted_is_drained() -> None:
    Odd.objects.bulk_create([Odd(code="a"), Odd(code="b")])
    assert sweeper.sweep() == 2
    assert tasks.sweep() == 0
    assert not Change.objects.pending().exists()


def test_what_is_cold_is_asked_to_be_rebuilt_and_what_is_warm_is_not(asked: list[str], redis: Redis) -> None:
    world.warm()
    redis.delete(naming.marker("titem"))
    sweeper.sweep()
    assert asked == ["titem"]


def test_the_clock_is_written_when_all_is_done(redis: Redis) -> None:
    before = outbox.clock()
    sweeper.sweep()
    written: Any = redis.get(naming.clock())
    assert before <= float(written) <= outbox.clock()


def test_old_changes_are_forgotten() -> None:
    Change.objects.create(mirror="titem", key="1", applied_at="2020-01-01T00:00:00Z")
    sweeper.sweep()
    assert not Change.objects.exists()


def test_while_another_sweeps_it_does_nothing() -> None:
    Odd.objects.create(code="a")
    with lease(client(), "sweep", 3600):
        assert sweeper.sweep() == 0
    assert Change.objects.pending().exists()


def test_without_redis_it_waits_for_the_next_time(redis_server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    Odd.objects.create(code="a")
    redis_server.kill()
    with caplog.at_level(logging.WARNING, "mirror"):
        assert sweeper.sweep() == 0
    assert "Redis is away" in caplog.text
    redis_server.start()
    assert sweeper.sweep() == 1


def test_a_command_that_is_wrong_is_an_error_and_not_taken_for_absence(redis: Redis) -> None:
    redis.sadd(naming.clock(), "x")
    redis.sadd(naming.marker(registry.all_mirrors()[0].name), "x")
    with pytest.raises(Exception, match="WRONGTYPE"):
        sweeper.sweep()


def test_without_redis_the_task_leaves_its_keys_to_the_next_sweep(redis_server: RedisServer) -> None:
    Odd.objects.create(code="a")
    redis_server.kill()
    assert tasks.drain_keys("t'odd", ["a"]) == 0
    assert Change.objects.pending().exists()


def test_the_task_drains_the_keys_that_it_is_given() -> None:
    Odd.objects.bulk_create([Odd(code="a"), Odd(code="b")])
    assert tasks.drain_keys("t'odd", ["a"]) == 1
    assert relay.drain_all(redis=relay_client()) == 1
