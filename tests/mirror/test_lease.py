"""A lease excludes other holders for a limited time, and only its holder can release it."""

from typing import Any

import pytest
from redis import Redis
from redis.exceptions import TimeoutError as RedisTimeoutError

from mirror.redis import naming
from mirror.redis.clients import client
from mirror.redis.lease import lease, release_lease
from mirror.redis.session import Session
from tests.support.servers import RedisServer, wait_until
from tests.support.timeouts import hung

pytestmark = pytest.mark.also_on("cluster")

NAME = "job"
LONG = 3600.0  # longer than any test takes


def test_lease_excludes_a_second_holder() -> None:
    with lease(client(), NAME, LONG) as mine, lease(client(), NAME, LONG) as theirs:
        assert (mine, theirs) == (True, False)
    with lease(client(), NAME, LONG) as mine:
        assert mine


def test_lease_is_released_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), lease(client(), NAME, LONG):
        raise ZeroDivisionError
    with lease(client(), NAME, LONG) as mine:
        assert mine


def test_lease_expires(redis: Redis) -> None:
    with lease(client(), NAME, LONG):
        assert 0 < redis.pttl(naming.lease(NAME)) <= LONG * 1000


def test_expired_lease_of_another_holder_is_not_released(redis: Redis) -> None:
    with lease(client(), NAME, LONG):
        redis.set(naming.lease(NAME), "another's")
    assert redis.get(naming.lease(NAME)) == b"another's"


def test_lease_that_changes_hands_during_the_release_is_kept(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Session.watch_and_ask

    def overtaken(session: Session, *args: object) -> object:
        found = ask(session, *args)  # type: ignore[arg-type]
        redis.set(naming.lease(NAME), "another's")
        return found

    redis.set(naming.lease(NAME), "mine")
    monkeypatch.setattr(Session, "watch_and_ask", overtaken)
    release_lease(client(), naming.lease(NAME), "mine")
    assert redis.get(naming.lease(NAME)) == b"another's"


def test_process_retakes_a_lease_that_a_hung_redis_granted_late(redis_server: RedisServer) -> None:
    """The client times out, and the server executes the command after it resumes."""
    with hung(redis_server), pytest.raises(RedisTimeoutError), lease(client(), NAME, LONG):
        pass
    wait_until(lambda: client().exists(naming.lease(NAME)), "the lease without an owner")
    with lease(client(), NAME, LONG) as mine:
        assert mine


def test_lease_of_another_process_is_not_taken(redis: Redis) -> None:
    redis.set(naming.lease(NAME), "another's")
    with lease(client(), NAME, LONG) as mine:
        assert not mine
    assert redis.get(naming.lease(NAME)) == b"another's"


def test_lease_is_renewed_while_its_block_runs(redis: Redis) -> None:
    with lease(client(), NAME, 3.0):
        redis.pexpire(naming.lease(NAME), 2_000)
        wait_until(lambda: redis.pttl(naming.lease(NAME)) > 2_000, "a renewal")
    assert not redis.exists(naming.lease(NAME))


def test_lease_is_renewed_in_an_emptied_redis(redis: Redis) -> None:
    with lease(client(), NAME, 3.0):
        redis.delete(naming.lease(NAME))
        wait_until(lambda: redis.exists(naming.lease(NAME)), "a renewal")


@pytest.mark.only_on("single")  # it checks the connections or the reply of a single server
def test_failing_renewal_is_logged_once(redis: Redis, caplog: pytest.LogCaptureFixture) -> None:
    """A full memory refuses each renewal."""
    with lease(client(), NAME, 0.03):
        redis.config_resetstat()
        redis.config_set("maxmemory", 1)
        try:
            wait_until(lambda: count_refusals(redis) > 3, "several renewals")
        finally:
            redis.config_set("maxmemory", 0)
    assert len([text for text in caplog.messages if "renew" in text]) == 1


def count_refusals(redis: Redis) -> int:
    stats: Any = redis.info("stats")
    return int(stats["total_error_replies"])
