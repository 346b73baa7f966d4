"""A session is one connection, with as few round trips as can be, and nothing of it stays behind."""

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from mirror.recorder import record
from mirror.redis import client, incarnation
from mirror.session import Conflict, Session
from tests.support.servers import RedisServer
from tests.support.servers.process import wait_until


def held() -> int:
    """Connections of the pool that nobody has given back."""
    return len(client().connection_pool._in_use_connections)


def free() -> list[object]:
    return list(client().connection_pool._available_connections)


def test_many_commands_are_one_round_trip_and_have_a_reply_each() -> None:
    with record() as seen, Session(client()) as session:
        assert session.ask([("SET", "a", "1"), ("GET", "a"), ("GET", "none")])[1:] == [b"1", None]
    assert seen.round_trips == 1


def test_watching_and_reading_is_one_round_trip_and_so_is_a_transaction(redis: Redis) -> None:
    redis.set("a", "1")
    with record() as seen, Session(client()) as session:
        assert session.watch_and_ask(["a"], [("GET", "a")]) == [b"1"]
        assert session.execute([("SET", "a", "2"), ("GET", "a")])[1] == b"2"
    assert seen.round_trips == 2


def test_a_watched_key_that_somebody_wrote_is_a_conflict_and_nothing_is_written(redis: Redis) -> None:
    with Session(client()) as session:
        session.watch_and_ask(["a"], [])
        redis.set("a", "theirs")
        with pytest.raises(Conflict):
            session.execute([("SET", "a", "mine"), ("SET", "b", "mine")])
    assert (redis.get("a"), redis.get("b")) == (b"theirs", None)


def test_a_conflict_does_not_cost_the_connection(redis: Redis) -> None:
    with Session(client()):
        pass
    before = free()
    with pytest.raises(Conflict), Session(client()) as session:
        session.watch_and_ask(["a"], [])
        redis.set("a", "theirs")
        session.execute([("SET", "a", "mine")])
    with record() as seen, Session(client()) as session:
        session.ask([("PING",)])
    assert free() == before
    assert [c.name for c in seen.commands] == ["PING"]


def test_an_error_among_the_replies_is_raised_and_the_replies_after_it_are_read(redis: Redis) -> None:
    redis.sadd("s", "x")
    with Session(client()) as session:
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            session.ask([("SET", "a", "1"), ("GET", "s"), ("SET", "b", "2")])
        assert session.ask([("GET", "b")]) == [b"2"]


def test_an_error_inside_a_transaction_is_raised(redis: Redis) -> None:
    redis.sadd("s", "x")
    with pytest.raises(ResponseError, match="WRONGTYPE"), Session(client()) as session:
        session.execute([("SET", "a", "1"), ("INCR", "s"), ("SET", "b", "2")])


def test_a_command_that_cannot_be_queued_is_raised_and_nothing_is_done(redis: Redis) -> None:
    with pytest.raises(ResponseError, match="wrong number of arguments"), Session(client()) as session:
        session.execute([("SET", "a", "1"), ("GET", "a", "b")])
    assert redis.get("a") is None


@pytest.mark.parametrize("how", ["well", "by an error"])
def test_a_connection_is_given_back_without_watches(redis: Redis, how: str) -> None:
    try:
        with Session(client()) as session:
            session.watch_and_ask(["a"], [])
            if how == "by an error":
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    redis.set("a", "theirs")
    with Session(client()) as session:  # on the same connection, which would still be watching "a"
        session.execute([("SET", "b", "1")])
    assert redis.get("b") == b"1"


def test_replies_that_nobody_collected_do_not_answer_the_next_question() -> None:
    with Session(client()) as session:
        session.post([("ECHO", "late")])
    with Session(client()) as session:
        assert session.ask([("ECHO", "now")]) == [b"now"]


def test_a_transaction_that_was_posted_is_under_way_before_it_is_collected(redis: Redis) -> None:
    with Session(client()) as session:
        session.post_transaction([("SET", "a", "1")])
        wait_until(lambda: redis.get("a") == b"1", "the write")
        assert len(session.collect_transaction()) == 1


def test_a_connection_is_given_back_also_when_redis_died_in_between(redis_server: RedisServer) -> None:
    before = held()
    with pytest.raises(RedisConnectionError), Session(client()) as session:
        session.watch_and_ask(["a"], [])
        redis_server.kill()
        # leaving the block wants to unwatch, and cannot
    assert held() == before


def test_a_session_knows_whom_it_speaks_to() -> None:
    with Session(client()) as session:
        assert session.incarnation == incarnation(client(), ask=True)
