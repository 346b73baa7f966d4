"""Readers get Redis' answer only from warm mirrors, in one round trip. Otherwise SQL answers, without an error."""

import logging
from collections.abc import Callable

import pytest
from redis import Redis

from mirror import registry
from mirror.read.prefetch import Reading
from mirror.read.reads import read
from mirror.redis import naming
from mirror.redis.clients import breaker, client
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.relay.sql_only import sql_only, wanted
from mirror.upkeep import rebuild
from tests.projects.mirrortest.models import Odd
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
NAME = "t'odd"


def key() -> str:
    return registry.get(NAME).record_key("a")


def ask() -> Reading | None:
    return read([NAME], lambda pipe: pipe.get(key()))


@pytest.fixture
def whole() -> None:
    """Create a row in a warm mirror."""
    Odd.objects.create(code="a")
    rebuild.rebuild([NAME, "tgroup"])
    drains.drain_all()


def test_warm_mirror_is_read_in_one_round_trip_without_sql(whole: None) -> None:
    ask()
    with record() as seen:
        found = ask()
    assert found is not None
    assert found.replies == [b'{"code":"a"}']
    assert (seen.round_trips, seen.sql) == (1, [])


def test_several_mirrors_are_read_in_one_round_trip(whole: None) -> None:
    with record() as seen:
        found = read([NAME, "tgroup"], lambda pipe: pipe.get(key()).exists(key()).ping())
    assert found is not None
    assert found.replies == [b'{"code":"a"}', 1, True]
    assert len(found.generations) == 2
    assert seen.round_trips == 1


def test_warm_mirror_reports_a_missing_row(whole: None) -> None:
    found = read([NAME], lambda pipe: pipe.get("nothing there"))
    assert found is not None
    assert found.replies == [None]


def test_cold_mirror_is_not_read(redis: Redis) -> None:
    assert ask() is None


def test_one_cold_mirror_leaves_the_read_to_sql(whole: None) -> None:
    assert read([NAME, "titem"], lambda pipe: pipe.get(key())) is None


def test_emptied_redis_is_not_believed(whole: None, redis: Redis) -> None:
    redis.flushall()
    assert ask() is None


def test_redis_emptied_between_marker_and_data_is_not_believed(whole: None, redis: Redis) -> None:
    def emptied_meanwhile(pipe: object) -> None:
        pipe.flushdb()  # type: ignore[attr-defined]
        pipe.get(key())  # type: ignore[attr-defined]

    assert read([NAME], emptied_meanwhile) is None


def test_mirror_made_cold_between_marker_and_data_is_not_read(whole: None) -> None:
    assert read([NAME], lambda pipe: pipe.delete(naming.marker(NAME))) is None


def test_open_breaker_sends_nothing(whole: None) -> None:
    breaker.failed()
    with record() as seen:
        assert ask() is None
    assert seen.commands == []


def test_sql_only_sends_nothing(whole: None) -> None:
    with sql_only(), record() as seen:
        assert wanted()
        assert ask() is None
    assert seen.commands == []
    assert not wanted()
    assert ask() is not None


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_unreachable_redis_opens_the_breaker(harm: str, redis_server: RedisServer) -> None:
    client().ping()
    getattr(redis_server, harm)()
    assert ask() is None
    assert breaker.open()


def test_failing_command_is_logged_and_opens_no_breaker(whole: None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "mirror"):
        assert read([NAME], lambda pipe: pipe.lrange(key(), 0, -1)) is None
    assert "WRONGTYPE" in caplog.text
    assert not breaker.open()
    assert ask() is not None


@pytest.mark.parametrize("spoil", [lambda redis, name: redis.sadd(name, "x"), lambda redis, name: redis.set(name, "")])
def test_invalid_marker_does_not_count(spoil: Callable[[Redis, str], None], whole: None, redis: Redis) -> None:
    redis.delete(naming.marker(NAME))
    spoil(redis, naming.marker(NAME))
    assert ask() is None
    assert not breaker.open()
