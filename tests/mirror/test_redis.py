"""What connections learn as they open, what counts as "away", and the breaker."""

import pytest
from django.db import OperationalError
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mirror.recorder import record
from mirror.redis import Breaker, client, incarnation, is_away
from mirror.session import Session
from tests.support.servers import RedisServer


@pytest.mark.parametrize("error", [RedisConnectionError("gone"), RedisTimeoutError("slow")])
def test_a_server_that_does_not_answer_is_away(error: RedisError) -> None:
    assert is_away(error)


@pytest.mark.parametrize("error", [ResponseError("WRONGTYPE Operation"), ValueError("x"), OperationalError("x")])
def test_what_is_wrong_with_a_command_or_elsewhere_is_not_away(error: Exception) -> None:
    assert not is_away(error)


def refused(redis: Redis) -> BaseException:
    """The error that a write meets now."""
    with pytest.raises(RedisError) as caught, Session(redis) as session:
        session.execute([("SET", "a", "1")])
    return caught.value


def test_a_server_that_is_full_is_away(redis_server: RedisServer) -> None:
    with redis_server.client() as redis:
        redis.config_set("maxmemory", "1")
        assert is_away(refused(client()))


def test_a_server_that_has_become_a_replica_is_away(redis_server: RedisServer) -> None:
    with redis_server.client() as redis:
        redis.replicaof("127.0.0.1", "1")
        assert is_away(refused(client()))


def test_a_server_that_cannot_save_or_has_too_few_replicas_is_away(redis_server: RedisServer) -> None:
    with redis_server.client() as redis:
        redis.config_set("min-replicas-to-write", "1")
        assert is_away(refused(client()))


def test_a_server_that_forbids_the_command_is_away(redis_server: RedisServer) -> None:
    with redis_server.client() as redis:
        redis.execute_command("ACL", "SETUSER", "default", "-set")
        assert is_away(refused(client()))


def test_a_connection_learns_the_incarnation_as_it_opens_and_nobody_records_that(redis: Redis) -> None:
    with record() as seen:
        found = incarnation(client(), ask=False)
    client().connection_pool.disconnect()
    with record() as seen, Session(client()) as session:
        session.ask([("PING",)])
        assert session.incarnation == found
    assert [command.name for command in seen.commands] == ["PING"]
    assert found == f"{redis.info('server')['run_id'][:20]}:{redis.info('replication')['master_replid'][:20]}"


def test_a_server_that_was_restarted_is_another_incarnation(redis_server: RedisServer) -> None:
    before = incarnation(client(), ask=True)
    redis_server.restart()
    assert client().ping()
    assert incarnation(client()) != before


def test_a_promoted_replica_is_another_incarnation_though_its_connections_stay_open(redis_server: RedisServer) -> None:
    redis = client()
    redis.ping()
    before = incarnation(redis)
    with redis_server.client() as other:
        other.replicaof("127.0.0.1", "1")
        other.replicaof("no", "one")
    assert incarnation(redis) == before
    assert incarnation(redis, ask=True) != before
    with Session(redis) as session:
        assert session.incarnation != before


def test_the_breaker_leaves_redis_alone_after_a_failure_and_lets_go_after_its_time(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "BREAKER_SECONDS": 1.0}
    now = [100.0]
    breaker = Breaker(clock=lambda: now[0])
    assert not breaker.open()
    breaker.failed()
    assert breaker.open()
    now[0] += 0.99
    assert breaker.open()
    now[0] += 0.02
    assert not breaker.open()
    breaker.failed()
    breaker.reset()
    assert not breaker.open()
