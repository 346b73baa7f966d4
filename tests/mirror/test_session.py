"""A session uses one connection with few round trips, and returns it to the pool without watches or replies."""

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from mirror.redis.clients import client, incarnation
from mirror.redis.recorder import record
from mirror.redis.session import Conflict, Session
from tests.support.servers import RedisServer
from tests.support.servers.process import wait_until

pytestmark = pytest.mark.also_on("cluster")


def held() -> int:
    """Return the number of the pool's connections in use."""
    return len(client().connection_pool._in_use_connections)


def free() -> list[object]:
    return list(client().connection_pool._available_connections)


def test_many_commands_take_one_round_trip() -> None:
    with record() as seen, Session(client()) as session:
        assert session.ask([("SET", "a", "1"), ("GET", "a"), ("GET", "none")])[1:] == [b"1", None]
    assert seen.round_trips == 1


def test_watch_with_reads_and_transaction_take_one_round_trip_each(redis: Redis) -> None:
    redis.set("a", "1")
    with record() as seen, Session(client()) as session:
        assert session.watch_and_ask(["a"], [("GET", "a")]) == [b"1"]
        assert session.execute([("SET", "a", "2"), ("GET", "a")])[1] == b"2"
    assert seen.round_trips == 2


@pytest.mark.only_on("single")  # it names keys of several slots in one command
def test_changed_watched_key_raises_conflict_and_writes_nothing(redis: Redis) -> None:
    with Session(client()) as session:
        session.watch_and_ask(["a"], [])
        redis.set("a", "theirs")
        with pytest.raises(Conflict):
            session.execute([("SET", "a", "mine"), ("SET", "b", "mine")])
    assert (redis.get("a"), redis.get("b")) == (b"theirs", None)


def test_conflict_keeps_the_connection_open(redis: Redis) -> None:
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


def test_error_reply_is_raised_after_all_replies_are_read(redis: Redis) -> None:
    redis.sadd("s", "x")
    with Session(client()) as session:
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            session.ask([("SET", "a", "1"), ("GET", "s"), ("SET", "b", "2")])
        assert session.ask([("GET", "b")]) == [b"2"]


@pytest.mark.only_on("single")  # it names keys of several slots in one command
def test_error_inside_a_transaction_is_raised(redis: Redis) -> None:
    redis.sadd("s", "x")
    with pytest.raises(ResponseError, match="WRONGTYPE"), Session(client()) as session:
        session.execute([("SET", "a", "1"), ("INCR", "s"), ("SET", "b", "2")])


def test_invalid_command_in_a_transaction_is_raised_and_nothing_is_written(redis: Redis) -> None:
    with pytest.raises(ResponseError, match="wrong number of arguments"), Session(client()) as session:
        session.execute([("SET", "a", "1"), ("GET", "a", "b")])
    assert redis.get("a") is None


@pytest.mark.parametrize("how", ["well", "by an error"])
def test_connection_is_returned_without_watches(redis: Redis, how: str) -> None:
    try:
        with Session(client()) as session:
            session.watch_and_ask(["a"], [])
            if how == "by an error":
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    redis.set("a", "theirs")
    with Session(client()) as session:  # on the same connection, which would still watch "a"
        session.execute([("SET", "b", "1")])
    assert redis.get("b") == b"1"


def test_uncollected_replies_do_not_answer_the_next_session() -> None:
    with Session(client()) as session:
        session.post([("ECHO", "late")])
    with Session(client()) as session:
        assert session.ask([("ECHO", "now")]) == [b"now"]


def test_posted_transaction_runs_before_it_is_collected(redis: Redis) -> None:
    with Session(client()) as session:
        session.post_transaction([("SET", "a", "1")])
        wait_until(lambda: redis.get("a") == b"1", "the write")
        assert len(session.collect_transaction()) == 1


def test_connection_is_returned_after_redis_died(redis_server: RedisServer) -> None:
    before = held()
    with pytest.raises(RedisConnectionError), Session(client()) as session:
        session.watch_and_ask(["a"], [])
        redis_server.kill()
        # Leaving the block sends UNWATCH, which fails.
    assert held() == before


def test_session_knows_the_incarnation_of_its_server() -> None:
    with Session(client()) as session:
        assert session.incarnation == incarnation(client(), ask=True)
