"""Companions: reads of other applications in the round trip of the session."""

import pytest
from django.test import Client
from redis import Redis
from redis.client import Pipeline

from accounts.sessions import companions
from accounts.sessions.engine import SessionStore
from common.additions import Addition
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from tests.support.accounts.sessions import alice, desk, read_token, warm_sessions

__all__ = ["alice", "desk", "warm_sessions"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register two companions, with two commands and with one."""
    monkeypatch.setattr(companions, "registered", {})
    companions.register(Addition(name="first", size=2, add_commands=ask_two))
    companions.register(Addition(name="second", add_commands=lambda pipe, digest: pipe.get(f"c:{digest}")))


def ask_two(pipe: Pipeline, digest: str) -> None:
    pipe.get("a")
    pipe.hget("b", digest)


def test_companions_share_the_round_trip_of_the_session(desk: Client, redis: Redis) -> None:
    session = SessionStore(read_token(desk))
    for name, value in [("a", 1), (f"c:{session.digest}", 3)]:
        redis.set(name, value)
    redis.hset("b", str(session.digest), 2)
    with record() as seen:
        session.load()
    assert (seen.round_trips, seen.sql) == (1, [])
    assert (session.get_companion_replies("first"), session.get_companion_replies("second")) == ((b"1", b"2"), (b"3",))
    assert session.get_companion_replies("nobody") is None


def test_replies_are_dropped_with_a_new_token(desk: Client) -> None:
    session = SessionStore(read_token(desk))
    assert session.get("_auth_user_id")
    assert session.get_companion_replies("second") == (None,)
    session.cycle_key()
    assert session.get_companion_replies("second") is None


def test_without_redis_the_session_loads_without_replies(desk: Client) -> None:
    session = SessionStore(read_token(desk))
    breaker.failed()
    assert session.get("_auth_user_id")
    assert session.get_companion_replies("first") is None
