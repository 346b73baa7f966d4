"""The sweep flushes due backups and restores lost ones. A failing backup delays no other."""

import logging

import pytest
from django.db import OperationalError
from django.test import override_settings
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import tasks
from mirror.backup.flush import flush
from mirror.backup.sweep import sweep
from mirror.redis import naming
from mirror.redis.clients import client
from mirror.redis.lease import lease
from mirror.redis.recorder import record
from tests.support.mirror.app.backups import BestBackup, baskets, best, play, put
from tests.support.mirror.app.models import Best
from tests.support.mirror.backup_world import is_warm, lines, marked, scores, scores_in, warm
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed")


def due(redis: Redis) -> None:
    """Make every backup due."""
    for backup in (best(), baskets()):
        redis.delete(naming.flushed(backup.name))


def test_sweep_flushes_marked_items_and_restores_lost_ones(redis: Redis) -> None:
    Best.objects.create(player="bob", score=1)
    play(redis, "alice", 3)
    put("b", "x", 1)
    assert sweep() == 2
    assert scores() == scores_in(redis) == {"alice": 3, "bob": 1}
    assert lines() == {"b": {"x": 1}}
    assert is_warm(redis, best())
    assert is_warm(redis, baskets())


def test_idle_sweep_sends_no_sql_and_three_kinds_of_commands(redis: Redis) -> None:
    sweep()
    with record() as seen:
        assert tasks.flush_backups() == 0
    assert seen.sql == []
    assert {command.name for command in seen.commands} == {"GET", "EXISTS", "ZCARD"}


def test_backup_is_flushed_once_per_interval(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BestBackup, "every_seconds", 3600.0)
    play(redis, "alice", 3)
    sweep()
    assert 1800_000 < redis.pttl(naming.flushed("tbest")) <= 3600_000
    play(redis, "alice", 4)
    sweep()
    assert scores() == {"alice": 3}
    due(redis)
    sweep()
    assert scores() == {"alice": 4}


def test_unfinished_backup_is_due_at_once(redis: Redis, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(BestBackup, "every_seconds", 3600.0)
    play(redis, "alice", 3)
    with override_settings(MIRROR={**settings.MIRROR, "SWEEP_BUDGET_SECONDS": 0.0}):
        assert sweep() == 0
    assert sweep() == 1


def test_backup_leased_by_another_process_is_skipped(redis: Redis) -> None:
    play(redis, "alice", 3)
    put("b", "x", 1)
    with lease(client(), "backup:tbest", 3600):
        assert sweep() == 1
    assert marked(redis, best()) == {"alice"}


def test_failing_declaration_delays_no_other_backup(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: BestBackup, after: object, limit: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(BestBackup, "items_after", broken)
    put("b", "x", 1)
    with caplog.at_level(logging.ERROR, "mirror"):
        assert sweep() == 1
    assert "Could not flush or restore tbest" in caplog.text


def test_quarantined_items_are_retried_once_per_interval(redis: Redis) -> None:
    play(redis, "alice", 666)
    sweep()
    redis.zadd("tbest", {"alice": 5})
    due(redis)
    assert sweep() == 0
    assert 0 < redis.pttl(naming.lease("again:tbest")) <= 3600_000
    redis.delete(naming.lease("again:tbest"))
    due(redis)
    assert sweep() == 1


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_sweep_without_redis_logs_one_line(
    harm: str, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    getattr(redis_server, harm)()
    with caplog.at_level(logging.WARNING, "mirror"):
        assert sweep(client()) == 0
    [line] = caplog.messages
    assert line.startswith("Redis is away, backups wait")


def test_sweep_without_sql_logs_one_line_and_keeps_all_marks(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*args: object) -> None:
        raise OperationalError("away")

    play(redis, "alice", 3)
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "mirror"):
        patch.setattr("mirror.backup.epoch.begin", away)
        assert sweep() == 0
    [line] = caplog.messages
    assert line.startswith("SQL is away, backups wait in Redis")
    assert sweep() == 1


def test_tasks_flush_restore_and_verify(redis: Redis) -> None:
    play(redis, "alice", 3)
    play(redis, "bob", 666)
    flush(best())
    redis.zadd("tbest", {"bob": 5})
    assert tasks.flush_backup("tbest") == 1
    warm()
    assert tasks.restore_backup("tbest") == 2
    Best.objects.update(score=9)
    assert tasks.verify_backup("tbest") == 2
