"""Reads and writes of backups are right after any loss of Redis."""

from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from mirror.backup import access
from mirror.backup.access import ensure, fetch
from mirror.backup.flush import flush
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from tests.support.mirror.app.backups import BestBackup, Content, baskets, best, play, put
from tests.support.mirror.app.models import Best
from tests.support.mirror.backup_world import Lives, lines, scores_in, warm
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture
def emptied(redis: Redis) -> None:
    """Write data to SQL and Redis, then empty Redis."""
    play(redis, "alice", 3)
    put("b", "x", 1)
    put("b", "y", 2)
    flush(best())
    flush(baskets())
    redis.flushall()


def content(basket: str) -> dict[str, int] | None:
    found: Content | None = fetch(baskets(), [basket]).get(basket)
    return found and found.lines


def test_warm_backup_is_read_in_one_round_trip_without_sql(redis: Redis) -> None:
    warm()
    play(redis, "alice", 3)
    put("b", "x", 1)
    fetch(best(), ["alice"])
    with record() as seen:
        assert fetch(best(), ["alice", "bob"]) == {"alice": 3}
        assert content("b") == {"x": 1}
    assert seen.round_trips == 2
    assert seen.sql == []


def test_lost_items_are_read_from_sql_and_restored(emptied: None, redis: Redis) -> None:
    assert fetch(best(), ["alice", "bob"]) == {"alice": 3}
    assert content("b") == {"x": 1, "y": 2}
    assert scores_in(redis) == {"alice": 3}
    assert redis.hgetall("tbasket:b").keys() == {b"version", b"x", b"y"}


def test_items_of_a_partial_backup_are_restored_when_read(emptied: None, redis: Redis) -> None:
    warm()
    assert not redis.exists("tbasket:b")
    assert content("b") == {"x": 1, "y": 2}
    with record() as seen:
        assert content("b") == {"x": 1, "y": 2}
    assert seen.sql == []


def test_outdated_value_in_redis_is_never_returned(redis: Redis, lives: Lives) -> None:
    warm()
    put("b", "x", 1)
    play(redis, "alice", 3)
    past = lives.past()
    put("b", "x", 2)
    play(redis, "alice", 4)
    flush(baskets())
    flush(best())
    lives.come_back(past)
    assert content("b") == {"x": 2}
    assert fetch(best(), ["alice"]) == {"alice": 4}


def test_newer_value_in_cold_redis_is_returned(emptied: None, redis: Redis) -> None:
    play(redis, "alice", 9)
    assert fetch(best(), ["alice"]) == {"alice": 9}
    assert scores_in(redis) == {"alice": 9}


def test_deleted_item_is_not_restored_from_sql(emptied: None, redis: Redis) -> None:
    play(redis, "alice", -1)
    assert fetch(best(), ["alice"]) == {}
    assert scores_in(redis) == {}


def test_fetch_of_no_items_sends_no_commands() -> None:
    with record() as seen:
        assert fetch(best(), []) == {}
    assert (seen.commands, seen.sql) == ([], [])


def test_backup_with_its_own_read_method_can_be_fetched(
    emptied: None, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(self: Any, client: Any, items: Any) -> Any:
        return self.said(items, [client.zmscore("tbest", items)])

    monkeypatch.setattr(BestBackup, "read", read)
    assert fetch(best(), ["alice"]) == {"alice": 3}
    warm()
    with record() as seen:
        assert fetch(best(), ["alice"]) == {"alice": 3}
    assert (seen.round_trips, seen.sql) == (3, [])


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_sql_answers_while_redis_is_down_and_the_breaker_opens(harm: str, redis_server: RedisServer) -> None:
    Best.objects.create(player="alice", score=3)
    fetch(best(), ["alice"])
    getattr(redis_server, harm)()
    assert fetch(best(), ["alice"]) == {"alice": 3}
    assert breaker.open()
    with record() as seen:
        assert fetch(best(), ["alice"]) == {"alice": 3}
    assert seen.commands == []


def test_key_of_the_wrong_type_is_answered_by_sql(redis: Redis) -> None:
    Best.objects.create(player="alice", score=3)
    redis.set("tbest", "x")
    assert fetch(best(), ["alice"]) == {"alice": 3}
    assert not breaker.open()


def test_ensure_restores_items_or_raises(emptied: None, redis: Redis, redis_server: RedisServer) -> None:
    ensure(best(), ["alice"])
    with redis_server.client() as mine:
        assert scores_in(mine) == {"alice": 3}
    redis_server.kill()
    with pytest.raises(RedisConnectionError):
        ensure(best(), ["alice"])


def test_write_to_a_warm_backup_takes_one_round_trip(redis: Redis) -> None:
    warm()
    put("b", "x", 1)
    with record() as seen:
        assert put("b", "y", 2) == 2
    assert (seen.round_trips, seen.sql) == (1, [])


def test_write_to_an_emptied_redis_keeps_the_values_in_sql(emptied: None) -> None:
    assert put("b", "z", 3) == 3
    flush(baskets())
    assert lines() == {"b": {"x": 1, "y": 2, "z": 3}}


def test_write_to_a_partial_backup_keeps_the_values_in_sql(emptied: None) -> None:
    warm()
    assert put("b", "z", 3) == 3


def test_write_to_an_outdated_redis_keeps_the_values_in_sql(lives: Lives) -> None:
    warm()
    put("b", "x", 1)
    past = lives.past()
    put("b", "y", 2)
    flush(baskets())
    lives.come_back(past)
    put("b", "z", 3)
    flush(baskets())
    assert lines() == {"b": {"x": 1, "y": 2, "z": 3}}


@pytest.mark.parametrize("restored", [False, True])
def test_script_notices_a_loss_just_before_it_runs(
    restored: bool, emptied: None, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis is lost after the basket was restored, and another process may have restored it again."""
    merged, lost = access._merged, list[bool]()

    def lose(*args: Any) -> Any:
        found = merged(*args)
        if not lost:
            lost.append(True)
            redis.flushall()
            if restored:
                warm()
        return found

    monkeypatch.setattr(access, "_merged", lose)
    assert put("b", "z", 3) == 3
    assert lost == [True]


def test_repeated_loss_raises_not_restored_and_writes_nothing(
    emptied: None, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = access._merged

    def lose(*args: Any) -> Any:
        found = merged(*args)
        redis.flushall()
        return found

    monkeypatch.setattr(access, "_merged", lose)
    with pytest.raises(access.NotRestored):
        put("b", "z", 3)
    assert not redis.exists("tbasket:b")


def test_script_is_loaded_again_after_script_flush(redis: Redis) -> None:
    warm()
    put("b", "x", 1)
    redis.script_flush()
    assert put("b", "y", 2) == 2
