"""The sweep corrects ``recent:`` after Redis refused writes or was away, and after a process was killed."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest
from redis import Redis

from accounts import ending, keys, tokens
from accounts.backups import LastSeenBackup
from accounts.models import Session, User
from mirror import sweeper
from mirror.backup.restore import restore
from mirror.backup.verify import verify
from mirror.redis import breaker
from tests.support.accounts.digests import age, left, make_sessions
from tests.support.accounts.sessions import alice, digest_in, log_in, whole
from tests.support.servers import RedisServer

__all__ = ["alice", "whole"]
pytestmark = pytest.mark.django_db(transaction=True)
backup = LastSeenBackup()


@contextmanager
def full(server: RedisServer) -> Generator[None, None, None]:
    """Make Redis refuse writes because its memory is full."""
    with server.client() as state:
        state.config_set("maxmemory", 1)
        yield
        state.config_set("maxmemory", 0)


@contextmanager
def killed(server: RedisServer) -> Generator[None, None, None]:
    """Kill Redis during the block."""
    server.kill()
    yield
    server.start()


@pytest.mark.parametrize("trouble", [full, killed])
def test_the_sweep_corrects_sessions_of_a_failed_redis(
    trouble: Callable[[RedisServer], Generator[None, None, None]], redis_server: RedisServer, alice: User
) -> None:
    restore(backup)
    stays, ends = log_in(alice), log_in(alice)
    with trouble(redis_server):  # type: ignore[attr-defined]
        begins = log_in(alice)
        ends.post("/accounts/logout/")
    breaker.reset()
    sweeper.sweep()
    with redis_server.client() as state:
        assert {digest_in(stays), digest_in(begins)} <= left(state)
        assert digest_in(ends) not in left(state)
    restore(backup)
    assert verify(backup) == []


def test_the_sweep_adds_the_session_of_a_killed_process(redis: Redis) -> None:
    begun, ended = make_sessions(2)  # rows without any call of the engine
    age(redis, [ended])
    ending.delete([ended])
    assert left(redis) == {ended}
    sweeper.sweep()
    assert left(redis) == {begun}
    assert verify(backup) == []


def test_the_sweep_changes_neither_times_nor_claims(redis: Redis) -> None:
    seen, claimed = make_sessions(2)
    tokens.begin(seen)
    redis.zadd(keys.recent(), {claimed: 0})
    before = redis.zrange(keys.recent(), 0, -1, withscores=True)
    sweeper.sweep()
    Session.objects.update(session_data="x")
    sweeper.sweep()
    assert redis.zrange(keys.recent(), 0, -1, withscores=True) == before
