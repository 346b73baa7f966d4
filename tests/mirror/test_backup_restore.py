"""A loss of Redis is noticed, and the backups are restored from SQL."""

from typing import Any

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror.backup import epoch
from mirror.backup.declare import Backup
from mirror.backup.flush import flush
from mirror.backup.restore import restore
from mirror.models import BackupState
from mirror.redis import naming
from mirror.redis.clients import relay_client
from tests.support.mirror.app.backups import BestBackup, baskets, best, play, put
from tests.support.mirror.app.models import Basket, Best
from tests.support.mirror.backup_world import Lives, Stop, is_warm, lines, marked, scores, scores_in, warm

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture
def twos(settings: Settings) -> None:
    """Set the chunk size to two items."""
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 2}


def players(count: int) -> None:
    Best.objects.bulk_create(Best(player=f"p{number}", score=number) for number in range(count))


def line_of(redis: Redis, basket: str, line: str) -> Any:
    return redis.hget(f"tbasket:{basket}", line)


def test_unknown_redis_is_filled_and_becomes_warm(redis: Redis, twos: None) -> None:
    players(5)
    done = restore(best())
    assert (done.items, done.done) == (5, True)
    assert scores_in(redis) == scores()
    assert is_warm(redis, best())
    assert marked(redis, best()) == set()
    assert restore(best()).items == 0


def test_emptied_redis_is_noticed(redis: Redis) -> None:
    players(3)
    restore(best())
    redis.flushall()
    assert restore(best()).items == 3
    assert scores_in(redis) == scores()


def test_redis_restored_from_an_older_file_is_noticed(redis: Redis, lives: Lives) -> None:
    play(redis, "alice", 3)
    flush(best())
    restore(best())
    past = lives.past()
    play(redis, "alice", 9)
    flush(best())
    lives.come_back(past)
    assert scores_in(redis) == {"alice": 3}
    assert restore(best()).items == 1
    assert scores_in(redis) == {"alice": 9}


def test_different_database_is_noticed(redis: Redis) -> None:
    players(2)
    restore(best())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mirror.read.marker.database_identity", lambda: "another")
        assert restore(best()).items == 2


def test_newer_value_in_redis_is_kept(redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best())
    play(redis, "alice", 5)
    restore(best())
    assert scores_in(redis) == {"alice": 5}
    assert marked(redis, best()) == {"alice"}


def test_marks_that_return_with_an_older_file_are_harmless(redis: Redis, lives: Lives) -> None:
    put("b", "x", 1)
    past = lives.past()
    put("b", "x", 2)
    flush(baskets())
    lives.come_back(past)
    assert marked(redis, baskets()) == {"b"}
    flush(baskets())
    assert lines() == {"b": {"x": 2}}
    restore(baskets())
    assert line_of(redis, "b", "x") == b"2"


def test_unflushed_deletion_is_kept(redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best())
    play(redis, "alice", -1)
    restore(best())
    assert scores_in(redis) == {}
    flush(best())
    assert scores() == {}


def test_restore_of_a_partial_backup_updates_only_items_that_redis_has(redis: Redis, lives: Lives) -> None:
    put("kept", "x", 1)
    past = lives.past()
    put("kept", "x", 2)
    put("lost", "x", 3)
    flush(baskets())
    lives.come_back(past)
    restore(baskets())
    assert line_of(redis, "kept", "x") == b"2"
    assert line_of(redis, "lost", "x") is None


def test_interrupted_restore_continues_at_its_position(redis: Redis, twos: None) -> None:
    players(5)

    def stop(name: str, count: int) -> None:
        raise Stop

    for _ in range(2):
        with pytest.raises(Stop):
            restore(best(), progress=stop)
    assert not is_warm(redis, best())
    assert BackupState.objects.get(backup="tbest").restored_items == 4
    assert restore(best()).items == 1
    assert scores_in(redis) == scores()


def test_restore_stops_at_its_deadline_and_reports_it(redis: Redis, twos: None) -> None:
    players(5)
    found = [restore(best(), 0) for _ in range(4)]
    assert [(each.items, each.done) for each in found] == [(2, False), (2, False), (1, False), (0, True)]
    assert scores_in(redis) == scores()


def test_restore_starts_over_when_redis_is_emptied_meanwhile(redis: Redis, twos: None) -> None:
    players(5)
    lost: list[int] = []

    def lose(name: str, count: int) -> None:
        if not lost:
            redis.flushall()
            lost.append(count)

    assert restore(best(), progress=lose).items == 5 + 5
    assert scores_in(redis) == scores()
    assert is_warm(redis, best())


def test_restore_starts_over_when_redis_reverts_meanwhile(redis: Redis, lives: Lives, twos: None) -> None:
    players(5)
    past, back = lives.past(), list[int]()

    def go_back(name: str, count: int) -> None:
        if not back:
            lives.come_back(past)
            back.append(count)

    restore(best(), progress=go_back)
    assert scores_in(redis) == scores()
    assert is_warm(redis, best())


def test_restore_raises_after_repeated_losses(redis: Redis) -> None:
    players(1)
    with pytest.raises(epoch.Over):
        restore(best(), progress=lambda name, count: redis.flushall())
    assert redis.get(naming.restored("tbest")) is None


def test_concurrent_restores_do_no_harm(redis: Redis, twos: None) -> None:
    players(5)
    others: list[int] = []

    def another(name: str, count: int) -> None:
        if not others:
            others.append(count)
            restore(best())

    assert restore(best(), progress=another).done
    assert scores_in(redis) == scores()
    assert is_warm(redis, best())


def test_restore_on_request_reads_every_item(redis: Redis) -> None:
    players(3)
    restore(best())
    redis.delete("tbest")
    assert restore(best()).items == 0
    assert restore(best(), again=True).items == 3
    assert scores_in(redis) == scores()


def test_restore_on_request_includes_items_that_are_not_restored_by_default(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    players(5)
    monkeypatch.setattr(BestBackup, "items_lost", lambda self, after, limit: self.items_after(after or "p2", limit))
    assert restore(best()).items == 2
    assert is_warm(redis, best())
    assert scores_in(redis) == {"p3": 3, "p4": 4}
    assert restore(best(), again=True).items == 5
    assert scores_in(redis) == scores()


def test_flush_writes_to_sql_that_was_restored_from_an_older_dump(redis: Redis) -> None:
    """The older SQL does not have the epoch. Values that are flushed later are written all the same."""
    warm()
    BackupState.objects.all().delete()
    play(redis, "alice", 3)
    flush(best())
    assert scores() == {"alice": 3}


@pytest.mark.parametrize("backup", [best(), baskets()], ids=lambda backup: backup.name)
def test_only_the_observer_of_the_last_epoch_can_begin_the_next(
    backup: Backup, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that paused before the loss cannot bring the former epoch back."""
    restore(backup)
    in_redis, calls = epoch.in_redis, list[epoch.Epoch]()

    def stand_still(name: str, client: Redis) -> epoch.Epoch:
        found = in_redis(name, client)
        calls.append(found)
        if len(calls) == 1:
            redis.flushall()
            restore(backup)
        return found

    BackupState.objects.update(epoch="older")
    monkeypatch.setattr(epoch, "in_redis", stand_still)
    now = epoch.begin(backup.name, relay_client())
    assert now.token != calls[0].token
    assert now.token == BackupState.objects.get(backup=backup.name).epoch
    assert is_warm(redis, backup)


def test_empty_basket_is_restored(redis: Redis, lives: Lives) -> None:
    """An empty basket with a version differs from no basket."""
    put("b", "x", 1)
    flush(baskets())
    past = lives.past()
    put("b", "x", 0)
    flush(baskets())
    lives.come_back(past)
    restore(baskets())
    assert line_of(redis, "b", "x") is None
    assert Basket.objects.get().lines == "{}"
