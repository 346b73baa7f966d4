"""Sessions while Redis is away, cold, outdated, or emptied."""

import pytest
from django.conf import settings as site
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.models import User
from mirror.middleware import COOKIE
from mirror.redis import naming
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from tests.support.accounts.sessions import (
    alice,
    desk,
    log_in,
    read_digest,
    read_session_values,
    read_user_name,
    warm_sessions,
)
from tests.support.servers import RedisServer
from tests.support.timeouts import hung
from tests.support.warm_mirrors import rebuild

__all__ = ["alice", "desk", "warm_sessions"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.support.accounts.session_urls")]


def test_an_emptied_redis_ends_no_session(desk: Client, redis: Redis) -> None:
    redis.flushall()
    assert read_user_name(desk) == "alice"
    rebuild(["session"])
    with record() as seen:
        assert read_user_name(desk) == "alice"
    assert seen.sql == []


def test_a_lost_record_ends_no_session(desk: Client, redis: Redis) -> None:
    redis.delete(keys.session(read_digest(desk)))
    assert read_user_name(desk) == "alice"


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_login_and_logout_work_without_redis(harm: str, redis_server: RedisServer, alice: User) -> None:
    rebuild(["session"])
    desk = log_in(alice)
    getattr(redis_server, harm)()
    assert read_user_name(desk) == "alice"
    phone = log_in(alice)
    assert COOKIE in phone.cookies
    assert read_user_name(phone) == "alice"
    desk.post("/accounts/logout/")
    assert (read_user_name(desk), read_user_name(phone)) == ("", "alice")


def test_events_without_redis_show_at_the_first_request_after_its_return(
    redis_server: RedisServer, alice: User
) -> None:
    """The changes have not reached Redis yet: it has an outdated record of one session and none of the other."""
    rebuild(["session"])
    desk = log_in(alice)
    drain_all()
    with hung(redis_server):
        phone = log_in(alice)
        desk.post("/accounts/logout/")
    breaker.reset()
    assert (read_user_name(desk), read_user_name(phone)) == ("", "alice")
    del phone.cookies[COOKIE]
    assert read_user_name(phone) == "alice"


def test_an_undrained_session_shows_at_the_next_request(alice: User, settings: Settings, redis: Redis) -> None:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0.0}
    client = log_in(alice)
    assert redis.exists(keys.session(read_digest(client))) == 0
    assert COOKIE in client.cookies
    assert read_user_name(client) == "alice"
    client.get("/keep/?colour=blue")
    assert read_session_values(client) == {"colour": "blue"}


def test_sessions_are_saved_inside_the_middleware_that_drains() -> None:
    order = site.MIDDLEWARE
    assert order.index("mirror.middleware.ReadYourWrites") < order.index("accounts.middleware.SessionMiddleware")


def test_a_visitor_without_a_cookie_costs_nothing() -> None:
    with record() as seen:
        assert read_user_name(Client()) == ""
    assert (seen.round_trips, seen.sql) == (0, [])


def test_a_cold_mirror_ends_no_session(desk: Client, redis: Redis) -> None:
    redis.delete(naming.marker("session"))
    assert read_user_name(desk) == "alice"
