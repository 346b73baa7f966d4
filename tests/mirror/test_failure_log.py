"""A lasting failure is logged at its beginning and its end, and at most once an hour."""

import logging
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from mirror.redis.clients import breaker, client, try_redis
from mirror.redis.session import get_pool
from mirror.upkeep import sweeper
from mirror.utils.failure_log import FailureLog
from mirror.visits.sweep import sweep
from tests.support.servers import RedisServer

HOUR = 3600.0


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def failures(now: list[float]) -> FailureLog:
    return FailureLog(logging.getLogger("mirror"), clock=lambda: now[0], max_keys=3)


def fail(failures: FailureLog, key: object = 1) -> None:
    failures.add(key, "%s failed", key, error=ValueError("why"))


def test_each_state_is_logged_once_with_a_count(
    failures: FailureLog, now: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        fail(failures)
    fail(failures, 2)
    assert caplog.messages == ["1 failed", "2 failed"]
    assert [bool(record.exc_info) for record in caplog.records] == [True, True]
    now[0] = HOUR
    fail(failures)
    failures.end(1, "%s works", 1)
    failures.end(1, "%s works", 1)
    assert caplog.messages[2:] == ["1 failed (4 times)", "1 works (after 4 failures)"]
    assert not caplog.records[2].exc_info


def test_failure_that_comes_and_goes_is_logged_once_an_hour(
    failures: FailureLog, now: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(30):
        fail(failures)
        failures.end(1, "%s works", 1)
        now[0] += 1
    assert caplog.messages == ["1 failed", "1 works (after 1 failures)"]
    now[0] += HOUR
    fail(failures)
    failures.end(1, "%s works", 1)
    assert caplog.messages[2:] == ["1 failed (30 times)", "1 works (after 30 failures)"]


def test_number_of_counted_failures_is_bounded(failures: FailureLog, caplog: pytest.LogCaptureFixture) -> None:
    for key in (1, 2, 3, 4):
        fail(failures, key)
    caplog.clear()
    failures.end(1, "over")
    failures.end(4, "over")
    assert caplog.messages == ["over (after 1 failures)"]


@pytest.mark.usefixtures("committed")
def test_visits_that_fail_at_every_sweep_are_logged_once(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(kind: object, redis: object) -> bool:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("mirror.visits.restoring.is_restored", fail)
        for _ in range(3):
            sweep()
    sweep()
    logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [text for text in logged if "tpage" in text] == [
        "Could not write visits of tpage",
        "Visits of tpage are written again (after 3 failures)",
    ]


@pytest.mark.usefixtures("committed")
def test_redis_away_is_logged_once_by_all_that_need_it(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    redis_server.kill()
    for _ in range(3):
        sweep()
        sweeper.sweep()
        breaker.reset()  # as after its time
        assert try_redis(lambda redis: redis.ping(), lambda: None) is None
    [line] = caplog.messages
    assert line.startswith("Redis is away, visits wait: ")
    redis_server.start()
    for _ in range(2):
        sweeper.sweep()
    assert caplog.messages[1:] == ["Redis answers again (after 9 failures)"]


@pytest.fixture
def locked(redis_server: RedisServer) -> Iterator[Callable[[], None]]:
    """Return a function that refuses new connections, as after a change of the password."""
    with redis_server.client() as admin:

        def lock() -> None:
            admin.acl_setuser("default", enabled=True, reset_passwords=True, passwords=["+another"], keep=True)
            get_pool(client()).disconnect()

        yield lock
        admin.acl_setuser("default", enabled=True, nopass=True, keep=True)


@pytest.mark.usefixtures("committed")
def test_refusals_between_answers_are_logged_once(
    redis_server: RedisServer, locked: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    """A full server answers reads, and one with a new password answers connections that are open."""
    caplog.set_level(logging.WARNING)

    def use() -> None:
        for _ in range(5):
            breaker.reset()
            try_redis(lambda redis: redis.set("site", "full"), lambda: None)
            breaker.reset()
            try_redis(lambda redis: redis.get("site"), lambda: None)

    with redis_server.client() as admin:
        admin.config_set("maxmemory-policy", "noeviction")
        admin.config_set("maxmemory", 1)
        use()
        admin.config_set("maxmemory", 0)
        use()
        assert len(caplog.messages) == 1
        assert "maxmemory" in caplog.messages[0]
        for _ in range(3):
            locked()
            use()
            admin.acl_setuser("default", enabled=True, nopass=True, keep=True)
            use()
    assert len(caplog.messages) == 2
    assert "authenticate" in caplog.messages[1]


@pytest.mark.usefixtures("committed")
def test_key_of_another_type_is_logged_once(redis: Redis, caplog: pytest.LogCaptureFixture) -> None:
    redis.set("text", "a")
    for _ in range(3):
        try_redis(lambda redis: redis.hget("text", "a"), lambda: None)
    [line] = caplog.messages
    assert "WRONGTYPE" in line
