"""The sweep flushes what is due, and restores what was lost; one backup's trouble is not another's."""

import logging

import pytest
from django.db import OperationalError
from django.test import override_settings
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import naming, tasks
from mirror.backup.flush import flush
from mirror.backup.sweep import sweep
from mirror.lease import lease
from mirror.recorder import record
from mirror.redis import client
from tests.support.mirror.app.backups import BestBackup, baskets, best, play, put
from tests.support.mirror.app.models import Best
from tests.support.mirror.backup_world import is_warm, lines, marked, scores, scores_in, warm
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed")


def due(redis: Redis) -> None:
    """As if their time had come."""
    for backup in (best(), baskets()):
        redis.delete(naming.flushed(backup.name))


def test_what_is_marked_is_flushed_and_what_was_lost_restored(redis: Redis) -> None:
    Best.objects.create(player="bob", score=1)
    play(redis, "alice", 3)
    put("b", "x", 1)
    assert sweep() == 2
    assert scores() == scores_in(redis) == {"alice": 3, "bob": 1}
    assert lines() == {"b": {"x": 1}}
    assert is_warm(redis, best())
    assert is_warm(redis, baskets())


def test_a_sweep_with_nothing_to_do_asks_no_sql_and_little_of_redis(redis: Redis) -> None:
    sweep()
    with record() as seen:
        assert tasks.flush_backups() == 0
    assert seen.sql == []
    assert {command.name for command in seen.commands} == {"GET", "EXISTS", "ZCARD"}


def test_it_is_flushed_as_often_as_it_says_and_no_oftener(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_could_not_be_done_in_its_time_is_due_at_once(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(BestBackup, "every_seconds", 3600.0)
    play(redis, "alice", 3)
    with override_settings(MIRROR={**settings.MIRROR, "SWEEP_BUDGET_SECONDS": 0.0}):
        assert sweep() == 0
    assert sweep() == 1


def test_while_another_is_at_a_backup_it_is_left_alone(redis: Redis) -> None:
    play(redis, "alice", 3)
    put("b", "x", 1)
    with lease(client(), "backup:tbest", 3600):
        assert sweep() == 1
    assert marked(redis, best()) == {"alice"}


def test_a_declaration_that_fails_holds_up_no_other_backup(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: BestBackup, after: object, limit: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(BestBackup, "items_after", broken)
    put("b", "x", 1)
    with caplog.at_level(logging.ERROR, "mirror"):
        assert sweep() == 1
    assert "Could not flush or restore tbest" in caplog.text


def test_what_was_set_aside_is_tried_again_once_in_a_while(redis: Redis) -> None:
    play(redis, "alice", 666)
    sweep()
    redis.zadd(naming.key("tbest"), {"alice": 5})
    due(redis)
    assert sweep() == 0
    assert 0 < redis.pttl(naming.lease("again:tbest")) <= 3600_000
    redis.delete(naming.lease("again:tbest"))
    due(redis)
    assert sweep() == 1


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_without_redis_it_says_so_in_one_line(
    harm: str, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    getattr(redis_server, harm)()
    with caplog.at_level(logging.WARNING, "mirror"):
        assert sweep(client()) == 0
    [line] = caplog.messages
    assert line.startswith("Redis is away, backups wait")


def test_without_sql_it_says_so_in_one_line_and_everything_stays_marked(
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


def test_the_tasks_do_what_the_admin_asks_for(redis: Redis) -> None:
    play(redis, "alice", 3)
    play(redis, "bob", 666)
    flush(best())
    redis.zadd(naming.key("tbest"), {"bob": 5})
    assert tasks.flush_backup("tbest") == 1
    warm()
    assert tasks.restore_backup("tbest") == 2
    Best.objects.update(score=9)
    assert tasks.verify_backup("tbest") == 2
