"""Readers and writers get what is right, whatever Redis has lost."""

from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from mirror import naming
from mirror.backup import access
from mirror.backup.access import ensure, fetch
from mirror.backup.flush import flush
from mirror.recorder import record
from mirror.redis import breaker
from tests.support.mirror.app.backups import BestBackup, Content, baskets, best, play, put
from tests.support.mirror.app.models import Best
from tests.support.mirror.backup_world import Lives, lines, scores_in, warm
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture
def emptied(redis: Redis) -> None:
    """What SQL has, and Redis has no more."""
    play(redis, "alice", 3)
    put("b", "x", 1)
    put("b", "y", 2)
    flush(best())
    flush(baskets())
    redis.flushall()


def content(basket: str) -> dict[str, int] | None:
    found: Content | None = fetch(baskets(), [basket]).get(basket)
    return found and found.lines


def test_what_is_warm_is_read_in_one_round_trip_and_without_sql(redis: Redis) -> None:
    warm()
    play(redis, "alice", 3)
    put("b", "x", 1)
    fetch(best(), ["alice"])
    with record() as seen:
        assert fetch(best(), ["alice", "bob"]) == {"alice": 3}
        assert content("b") == {"x": 1}
    assert seen.round_trips == 2
    assert seen.sql == []


def test_what_redis_lost_is_read_from_sql_and_put_back(emptied: None, redis: Redis) -> None:
    assert fetch(best(), ["alice", "bob"]) == {"alice": 3}
    assert content("b") == {"x": 1, "y": 2}
    assert scores_in(redis) == {"alice": 3}
    assert redis.hgetall(naming.key("tbasket:b")).keys() == {b"version", b"x", b"y"}


def test_what_redis_need_not_have_is_put_back_when_it_is_asked_for(emptied: None, redis: Redis) -> None:
    warm()
    assert not redis.exists(naming.key("tbasket:b"))
    assert content("b") == {"x": 1, "y": 2}
    with record() as seen:
        assert content("b") == {"x": 1, "y": 2}
    assert seen.sql == []


def test_what_redis_has_in_an_older_form_is_never_shown(redis: Redis, lives: Lives) -> None:
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


def test_what_is_newer_in_redis_is_shown_also_while_it_is_cold(emptied: None, redis: Redis) -> None:
    play(redis, "alice", 9)
    assert fetch(best(), ["alice"]) == {"alice": 9}
    assert scores_in(redis) == {"alice": 9}


def test_what_was_deleted_is_not_brought_back_from_sql(emptied: None, redis: Redis) -> None:
    play(redis, "alice", -1)
    assert fetch(best(), ["alice"]) == {}
    assert scores_in(redis) == {}


def test_nothing_is_asked_for_nothing() -> None:
    with record() as seen:
        assert fetch(best(), []) == {}
    assert (seen.commands, seen.sql) == ([], [])


def test_a_backup_that_only_says_read_is_read_as_well(
    emptied: None, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(self: Any, client: Any, items: Any) -> Any:
        return self.said(items, [client.zmscore(naming.key("tbest"), items)])

    monkeypatch.setattr(BestBackup, "read", read)
    assert fetch(best(), ["alice"]) == {"alice": 3}
    warm()
    with record() as seen:
        assert fetch(best(), ["alice"]) == {"alice": 3}
    assert (seen.round_trips, seen.sql) == (3, [])


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_with_redis_away_sql_answers_and_redis_is_left_alone(harm: str, redis_server: RedisServer) -> None:
    Best.objects.create(player="alice", score=3)
    fetch(best(), ["alice"])
    getattr(redis_server, harm)()
    assert fetch(best(), ["alice"]) == {"alice": 3}
    assert breaker.open()
    with record() as seen:
        assert fetch(best(), ["alice"]) == {"alice": 3}
    assert seen.commands == []


def test_a_key_of_another_kind_is_answered_by_sql(redis: Redis) -> None:
    Best.objects.create(player="alice", score=3)
    redis.set(naming.key("tbest"), "x")
    assert fetch(best(), ["alice"]) == {"alice": 3}
    assert not breaker.open()


def test_ensuring_restores_and_says_when_it_cannot(emptied: None, redis: Redis, redis_server: RedisServer) -> None:
    ensure(best(), ["alice"])
    with redis_server.client() as mine:
        assert scores_in(mine) == {"alice": 3}
    redis_server.kill()
    with pytest.raises(RedisConnectionError):
        ensure(best(), ["alice"])


def test_a_write_to_what_is_there_is_one_round_trip(redis: Redis) -> None:
    warm()
    put("b", "x", 1)
    with record() as seen:
        assert put("b", "y", 2) == 2
    assert (seen.round_trips, seen.sql) == (1, [])


def test_a_write_builds_on_what_sql_has_when_redis_lost_it(emptied: None) -> None:
    assert put("b", "z", 3) == 3
    flush(baskets())
    assert lines() == {"b": {"x": 1, "y": 2, "z": 3}}


def test_a_write_builds_on_what_sql_has_and_redis_need_not_have(emptied: None) -> None:
    warm()
    assert put("b", "z", 3) == 3


def test_a_write_builds_on_what_sql_has_when_redis_has_it_in_an_older_form(lives: Lives) -> None:
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
def test_redis_lost_at_the_last_moment_is_noticed_by_the_script_itself(
    restored: bool, emptied: None, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lost after the basket was put back, and (or not) taken up by somebody else meanwhile."""
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


def test_redis_lost_again_and_again_is_an_error_and_nothing_is_written(
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
    assert not redis.exists(naming.key("tbasket:b"))


def test_a_server_that_forgot_the_script_is_told_it_again(redis: Redis) -> None:
    warm()
    put("b", "x", 1)
    redis.script_flush()
    assert put("b", "y", 2) == 2
