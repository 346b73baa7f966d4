"""A lasting failure is logged at its beginning, once an hour, and at its end."""

import logging

import pytest
from redis import Redis

from mirror.backup.sweep import sweep
from mirror.redis.clients import breaker, try_redis
from mirror.relay import sweeper
from mirror.utils.failure_log import FailureLog
from tests.support.mirror.app.backups import BestBackup
from tests.support.servers import RedisServer

pytestmark = pytest.mark.on_sqlite
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
    fail(failures)
    assert caplog.messages[4:] == ["1 failed"]


def test_number_of_counted_failures_is_bounded(failures: FailureLog, caplog: pytest.LogCaptureFixture) -> None:
    for key in (1, 2, 3, 4):
        fail(failures, key)
    caplog.clear()
    failures.end(1, "over")
    failures.end(4, "over")
    assert caplog.messages == ["over (after 1 failures)"]


@pytest.mark.usefixtures("committed")
def test_backup_that_fails_at_every_sweep_is_logged_once(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: BestBackup, after: object, limit: object) -> object:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(BestBackup, "items_after", broken)
        for _ in range(3):
            sweep()
    sweep()
    logged = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in logged] == [
        "Could not flush or restore tbest",
        "tbest is flushed and restored again (after 3 failures)",
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
    assert line.startswith("Redis is away, backups wait: ")
    redis_server.start()
    for _ in range(2):
        sweeper.sweep()
    assert caplog.messages[1:] == ["Redis answers again (after 9 failures)"]
