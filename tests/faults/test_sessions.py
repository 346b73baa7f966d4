"""Faults of Redis neither end sessions nor revive ended ones."""

from pathlib import Path

import pytest
from redis import Redis

from accounts import keys
from accounts.models import Session, User
from accounts.sessions.services import end_session
from mirror.redis.clients import breaker
from mirror.upkeep import sweeper
from mirror.verify.runs import verify
from tests.faults.test_older_file import Past
from tests.projects.mirrortest.models import Item
from tests.support.accounts.sessions import PASSWORD, log_in, read_digest
from tests.support.faults.crew import Crew
from tests.support.faults.tools import is_at_rest
from tests.support.faults.web import Web
from tests.support.mirror import world
from tests.support.servers import RedisServer
from tests.support.timeouts import hung

SESSIONS = "/accounts/sessions/"


@pytest.fixture
def alice(still: list[Item]) -> User:
    return User.objects.create_user("alice", password=PASSWORD)


def csrf(web: Web, path: str) -> str:
    """Return the CSRF token of the form on this page."""
    return web.fetch(path).partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]


def is_in(web: Web) -> bool:
    """Return whether the visitor is logged in. Raise TimeoutError if a page exceeds its time."""
    return "alice" in web.ask("/accounts/sessions/") and "/accounts/logout/" in web.ask("/books/")


@pytest.fixture
def web(alice: User, broker_server: RedisServer, crew: Crew) -> Web:
    """Start a site with warm pages, and log alice in."""
    web = Web(crew)
    form = {"username": "alice", "password": PASSWORD, "csrfmiddlewaretoken": csrf(web, "/accounts/login/")}
    web.fetch("/accounts/login/", form)
    for path in ("/", "/books/", SESSIONS):
        web.fetch(path)
    world.rest()
    return web


@pytest.mark.slow
def test_sessions_login_and_logout_work_within_a_second_while_redis_hangs(
    web: Web, redis_server: RedisServer, broker_server: RedisServer
) -> None:
    logout = {"csrfmiddlewaretoken": csrf(web, SESSIONS)}
    redis_server.freeze()
    broker_server.freeze()
    assert is_in(web)
    assert "Log in" in web.ask("/accounts/logout/", logout)
    form = {"username": "alice", "password": PASSWORD, "csrfmiddlewaretoken": csrf(web, "/accounts/login/")}
    web.ask("/accounts/login/", form)
    assert is_in(web)
    assert Session.objects.filter(user__username="alice").count() == 1
    redis_server.thaw()
    broker_server.thaw()
    assert is_in(web)


def test_ended_session_stays_ended_when_redis_reverts(
    alice: User, redis_server: RedisServer, state: Redis, tmp_path: Path
) -> None:
    desk, phone = log_in(alice), log_in(alice)
    sweeper.sweep()
    past, ended = Past(redis_server, tmp_path), read_digest(phone)
    assert end_session(alice, ended)
    tablet = log_in(alice)
    assert state.exists(keys.session(ended)) == 0
    past.comes_back()
    assert state.exists(keys.session(ended)) == 1
    breaker.reset()
    for _ in range(2):  # before and after the lost changes are applied again
        assert [c.get(SESSIONS).status_code for c in (desk, phone, tablet)] == [200, 302, 200]
        sweeper.sweep()
        breaker.reset()
    assert is_at_rest()
    assert state.exists(keys.session(ended)) == 0
    assert verify(["session"]) == []


def test_session_ended_during_a_hang_stays_ended(alice: User, redis_server: RedisServer, state: Redis) -> None:
    desk, phone = log_in(alice), log_in(alice)
    with hung(redis_server):
        assert end_session(alice, read_digest(phone))
        assert phone.get(SESSIONS).status_code == 302
    breaker.reset()
    sweeper.sweep()
    assert [c.get(SESSIONS).status_code for c in (desk, phone)] == [200, 302]
