"""Readers get Redis' answer only when it is whole, in one round trip; else they are sent to SQL, and nothing fails."""

import logging
from collections.abc import Callable

import pytest
from redis import Redis

from mirror import naming, rebuild, registry, relay
from mirror.read import Reading, read
from mirror.recorder import record
from mirror.redis import breaker, client
from mirror.sql_only import sql_only, wanted
from tests.support.mirror.app.models import Odd
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed", "no_hints")
NAME = "t'odd"


def key() -> str:
    return registry.get(NAME).key("a")


def ask() -> Reading | None:
    return read([NAME], lambda pipe: pipe.get(key()))


@pytest.fixture
def whole() -> None:
    """One row, and the mirror warm."""
    Odd.objects.create(code="a")
    rebuild.rebuild([NAME, "tgroup"])
    relay.drain_all()


def test_what_is_whole_is_read_in_one_round_trip_and_without_sql(whole: None) -> None:
    ask()
    with record() as seen:
        found = ask()
    assert found is not None
    assert found.replies == [b'{"code":"a"}']
    assert (seen.round_trips, seen.sql) == (1, [])


def test_several_mirrors_and_commands_are_one_round_trip_too(whole: None) -> None:
    with record() as seen:
        found = read([NAME, "tgroup"], lambda pipe: pipe.get(key()).exists(key()).ping())
    assert found is not None
    assert found.replies == [b'{"code":"a"}', 1, True]
    assert len(found.generations) == 2
    assert seen.round_trips == 1


def test_a_whole_mirror_without_the_row_says_so(whole: None) -> None:
    found = read([NAME], lambda pipe: pipe.get("nothing there"))
    assert found is not None
    assert found.replies == [None]


def test_a_mirror_that_is_cold_is_not_read(redis: Redis) -> None:
    assert ask() is None


def test_one_cold_mirror_among_several_is_enough(whole: None) -> None:
    assert read([NAME, "titem"], lambda pipe: pipe.get(key())) is None


def test_a_redis_that_was_emptied_is_not_taken_for_the_truth(whole: None, redis: Redis) -> None:
    redis.flushall()
    assert ask() is None


def test_a_redis_that_is_emptied_between_marker_and_data_is_not_taken_for_the_truth(whole: None, redis: Redis) -> None:
    def emptied_meanwhile(pipe: object) -> None:
        pipe.flushdb()  # type: ignore[attr-defined]
        pipe.get(key())  # type: ignore[attr-defined]

    assert read([NAME], emptied_meanwhile) is None


def test_a_mirror_that_is_made_cold_between_marker_and_data_is_not_read(whole: None) -> None:
    assert read([NAME], lambda pipe: pipe.delete(naming.marker(NAME))) is None


def test_with_the_breaker_open_redis_is_left_alone(whole: None) -> None:
    breaker.failed()
    with record() as seen:
        assert ask() is None
    assert seen.commands == []


def test_a_request_that_has_to_see_its_own_write_leaves_redis_alone(whole: None) -> None:
    with sql_only(), record() as seen:
        assert wanted()
        assert ask() is None
    assert seen.commands == []
    assert not wanted()
    assert ask() is not None


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_a_redis_that_is_away_opens_the_breaker(harm: str, redis_server: RedisServer) -> None:
    client().ping()
    getattr(redis_server, harm)()
    assert ask() is None
    assert breaker.open()


def test_a_command_that_is_wrong_is_said_and_answered_by_sql_and_opens_no_breaker(
    whole: None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "mirror"):
        assert read([NAME], lambda pipe: pipe.lrange(key(), 0, -1)) is None
    assert "WRONGTYPE" in caplog.text
    assert not breaker.open()
    assert ask() is not None


@pytest.mark.parametrize("spoil", [lambda redis, name: redis.sadd(name, "x"), lambda redis, name: redis.set(name, "")])
def test_a_marker_that_was_spoilt_is_no_marker(spoil: Callable[[Redis, str], None], whole: None, redis: Redis) -> None:
    redis.delete(naming.marker(NAME))
    spoil(redis, naming.marker(NAME))
    assert ask() is None
    assert not breaker.open()
