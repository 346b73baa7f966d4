"""The sweep corrects ``recent:`` after Redis refused writes or was away, and after a process was killed."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest
from redis import Redis

from accounts import keys
from accounts.models import Session, User
from accounts.sessions import ending, last_seen
from accounts.visits import last_uses
from mirror.redis.clients import breaker
from mirror.upkeep import sweeper
from mirror.visits import restore
from tests.support.accounts.digests import make_sessions, read_recent_digests, read_stored_digests, set_last_seen
from tests.support.accounts.sessions import alice, log_in, read_digest, warm_sessions
from tests.support.servers import RedisServer

__all__ = ["alice", "warm_sessions"]
pytestmark = pytest.mark.django_db(transaction=True)


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
    restore(last_uses)
    stays, ends = log_in(alice), log_in(alice)
    with trouble(redis_server):  # type: ignore[attr-defined]
        begins = log_in(alice)
        ends.post("/accounts/logout/")
    breaker.reset()
    sweeper.sweep()
    with redis_server.client() as state:
        assert {read_digest(stays), read_digest(begins)} <= read_recent_digests(state)
        assert read_digest(ends) not in read_recent_digests(state)
        restore(last_uses)
        assert read_recent_digests(state) == read_stored_digests()


def test_the_sweep_adds_the_session_of_a_killed_process(redis: Redis) -> None:
    begun, ended = make_sessions(2)  # rows without any call of the engine
    set_last_seen(redis, [ended])
    ending.delete_sessions([ended])
    assert read_recent_digests(redis) == {ended}
    sweeper.sweep()
    assert read_recent_digests(redis) == {begun}


def test_the_sweep_changes_neither_times_nor_claims(redis: Redis) -> None:
    seen, claimed = make_sessions(2)
    last_seen.begin(seen)
    redis.zadd(keys.recent(), {claimed: 0})
    before = redis.zrange(keys.recent(), 0, -1, withscores=True)
    sweeper.sweep()
    Session.objects.update(session_data="x")
    sweeper.sweep()
    assert redis.zrange(keys.recent(), 0, -1, withscores=True) == before
