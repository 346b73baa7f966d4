"""A heartbeat is written only after all earlier changes of the strict mirrors reached Redis."""

import logging
from collections.abc import Callable
from typing import Any, cast

import orjson
import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.read import doubt
from mirror.redis import naming
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.upkeep import heartbeat, rebuild
from tests.projects.mirrortest.models import Item, Label, Odd
from tests.support.servers import RedisServer, wait_until
from tests.support.timings import Timings

pytestmark = pytest.mark.also_on("cluster")


@pytest.fixture(autouse=True)
def strict(committed: None, no_hints: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the mirror of items strict. The mirror of groups is not."""
    monkeypatch.setattr(type(registry.get("titem")), "strict", True)


@pytest.fixture
def warm(strict: None) -> None:
    """Rebuild the mirrors and delete the heartbeat."""
    Item.objects.bulk_create(Item(pk=pk, name=f"item {pk}") for pk in (1, 2))
    rebuild.rebuild(["titem", "tgroup"])
    drains.drain_all()


def said_of_one(redis: Redis) -> Any:
    return orjson.loads(cast("bytes", redis.get(registry.get("titem").record_key("1"))))


def beats(redis: Redis) -> bool:
    redis.delete(naming.heartbeat())
    done = heartbeat.beat()
    assert done == bool(redis.exists(naming.heartbeat()))
    return done


def test_pending_changes_of_strict_mirrors_are_applied_before_the_heartbeat(warm: None, redis: Redis) -> None:
    Item.objects.filter(pk=1).update(name="new")
    assert beats(redis)
    assert said_of_one(redis)["name"] == "new"


def test_changes_of_sources_are_spread_first(warm: None, redis: Redis) -> None:
    label = Label.objects.create(name="old")
    Item.objects.get(pk=1).labels.add(label)
    drains.drain_all()
    Label.objects.update(name="new")
    assert beats(redis)
    assert said_of_one(redis)["labels"] == ["new"]


def test_changes_of_other_mirrors_do_not_delay_the_heartbeat(warm: None, redis: Redis) -> None:
    Odd.objects.bulk_create(Odd(code=str(number)) for number in range(heartbeat.MOST + 1))
    assert beats(redis)
    assert Change.objects.pending().filter(mirror="t'odd").count() == heartbeat.MOST + 1


def test_no_heartbeat_is_written_while_more_is_pending_than_a_round_drains(warm: None, redis: Redis) -> None:
    Item.objects.bulk_create(Item(pk=100 + number, name=f"more {number}") for number in range(heartbeat.MOST + 1))
    assert not beats(redis)
    assert beats(redis)


def test_failing_change_delays_the_heartbeat_until_it_is_quarantined(
    warm: None, redis: Redis, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    def broken(self: object, row: Item) -> None:
        raise ValueError("this row cannot be mirrored")

    Item.objects.filter(pk=1).update(name="new")
    monkeypatch.setattr(type(registry.get("titem")), "record", broken)
    for _ in range(settings.MIRROR.get("ATTEMPTS", 3)):
        assert not beats(redis)
    assert beats(redis)
    assert redis.get(naming.quarantined()) == b'[["titem","","1"]]'


def test_list_of_quarantined_rows_is_deleted_with_its_last_row(warm: None, redis: Redis) -> None:
    Change.objects.create(mirror="titem", key="1", quarantined_at="2026-01-01T00:00Z")
    assert beats(redis)
    assert redis.exists(naming.quarantined())
    Change.objects.quarantined().delete()
    assert beats(redis)
    assert not redis.exists(naming.quarantined())


def test_too_many_quarantined_rows_are_not_listed(warm: None, redis: Redis) -> None:
    Change.objects.bulk_create(
        Change(mirror="tgroup", key=str(pk), quarantined_at="2026-01-01T00:00Z") for pk in range(heartbeat.LISTED + 1)
    )
    assert beats(redis)
    assert redis.get(naming.quarantined()) == doubt.TOO_MANY


def test_heartbeat_expires_relative_to_the_start_of_its_round(warm: None, redis: Redis, settings: Settings) -> None:
    """A frozen server may execute the command late."""
    settings.MIRROR = {**settings.MIRROR, "HEARTBEAT_SECONDS": 0.0}
    assert heartbeat.beat()
    assert not redis.exists(naming.heartbeat())


def test_round_without_changes_takes_two_round_trips_and_three_queries(warm: None, redis: Redis) -> None:
    heartbeat.beat()
    with record() as seen:
        assert heartbeat.beat()
    assert (seen.round_trips, len(seen.sql)) == (2, 3)


def test_heartbeats_resume_after_an_outage_that_is_logged_once(
    warm: None,
    redis_server: RedisServer,
    short_timeouts: Callable[..., object],
    timings: Timings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    timings(HEARTBEAT_INTERVAL_SECONDS=0.01)

    def logged(text: str) -> int:
        return sum(text in entry.getMessage() for entry in caplog.records)

    pulse = heartbeat.Pulse()
    with caplog.at_level(logging.WARNING, "mirror"):
        pulse.start()
        try:
            wait_until(lambda: redis_server.client().exists(naming.heartbeat()), "a heartbeat")
            redis_server.kill()
            wait_until(lambda: logged("No heartbeat"), "the loss to be logged")
            redis_server.start()
            wait_until(lambda: logged("The heartbeat is back"), "the return to be logged")
        finally:
            pulse.stop()
            pulse.join()
    assert (logged("No heartbeat"), logged("The heartbeat is back")) == (1, 1)
