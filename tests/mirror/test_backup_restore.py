"""A Redis that was lost is noticed, and what SQL has is put back."""

from typing import Any

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import naming
from mirror.backup import epoch
from mirror.backup.declare import Backup
from mirror.backup.flush import flush
from mirror.backup.restore import restore
from mirror.models import BackupState
from mirror.redis import relay_client
from tests.support.mirror.app.backups import BestBackup, baskets, best, play, put
from tests.support.mirror.app.models import Basket, Best
from tests.support.mirror.backup_world import Lives, Stop, is_warm, lines, marked, scores, scores_in, warm

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture
def twos(settings: Settings) -> None:
    """Chunks of two items."""
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 2}


def players(count: int) -> None:
    Best.objects.bulk_create(Best(player=f"p{number}", score=number) for number in range(count))


def line_of(redis: Redis, basket: str, line: str) -> Any:
    return redis.hget(naming.key(f"tbasket:{basket}"), line)


def test_a_redis_that_is_not_known_gets_everything_and_is_warm_then(redis: Redis, twos: None) -> None:
    players(5)
    done = restore(best())
    assert (done.items, done.done) == (5, True)
    assert scores_in(redis) == scores()
    assert is_warm(redis, best())
    assert marked(redis, best()) == set()
    assert restore(best()).items == 0


def test_a_redis_that_was_emptied_is_noticed(redis: Redis) -> None:
    players(3)
    restore(best())
    redis.flushall()
    assert restore(best()).items == 3
    assert scores_in(redis) == scores()


def test_a_redis_that_came_back_from_an_older_file_is_noticed(redis: Redis, lives: Lives) -> None:
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


def test_another_database_is_noticed(redis: Redis) -> None:
    players(2)
    restore(best())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mirror.marker.database_identity", lambda: "another")
        assert restore(best()).items == 2


def test_what_redis_has_and_is_newer_stays(redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best())
    play(redis, "alice", 5)
    restore(best())
    assert scores_in(redis) == {"alice": 5}
    assert marked(redis, best()) == {"alice"}


def test_marks_that_had_been_cleared_come_back_and_do_no_harm(redis: Redis, lives: Lives) -> None:
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


def test_what_was_deleted_in_redis_and_is_not_flushed_yet_stays_deleted(redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best())
    play(redis, "alice", -1)
    restore(best())
    assert scores_in(redis) == {}
    flush(best())
    assert scores() == {}


def test_of_what_redis_need_not_have_only_what_it_has_is_put_back(redis: Redis, lives: Lives) -> None:
    put("kept", "x", 1)
    past = lives.past()
    put("kept", "x", 2)
    put("lost", "x", 3)
    flush(baskets())
    lives.come_back(past)
    restore(baskets())
    assert line_of(redis, "kept", "x") == b"2"
    assert line_of(redis, "lost", "x") is None


def test_stopped_it_goes_on_where_it_was(redis: Redis, twos: None) -> None:
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


def test_when_its_time_is_over_it_stops_and_says_so(redis: Redis, twos: None) -> None:
    players(5)
    found = [restore(best(), 0) for _ in range(4)]
    assert [(each.items, each.done) for each in found] == [(2, False), (2, False), (1, False), (0, True)]
    assert scores_in(redis) == scores()


def test_redis_lost_in_the_middle_makes_it_begin_anew(redis: Redis, twos: None) -> None:
    players(5)
    lost: list[int] = []

    def lose(name: str, count: int) -> None:
        if not lost:
            redis.flushall()
            lost.append(count)

    assert restore(best(), progress=lose).items == 5 + 5
    assert scores_in(redis) == scores()
    assert is_warm(redis, best())


def test_redis_gone_back_in_the_middle_makes_it_begin_anew(redis: Redis, lives: Lives, twos: None) -> None:
    players(5)
    past, back = lives.past(), list[int]()

    def go_back(name: str, count: int) -> None:
        if not back:
            lives.come_back(past)
            back.append(count)

    restore(best(), progress=go_back)
    assert scores_in(redis) == scores()
    assert is_warm(redis, best())


def test_lost_again_and_again_it_gives_up_for_now(redis: Redis) -> None:
    players(1)
    with pytest.raises(epoch.Over):
        restore(best(), progress=lambda name, count: redis.flushall())
    assert redis.get(naming.restored("tbest")) is None


def test_two_at_once_do_no_harm(redis: Redis, twos: None) -> None:
    players(5)
    others: list[int] = []

    def another(name: str, count: int) -> None:
        if not others:
            others.append(count)
            restore(best())

    assert restore(best(), progress=another).done
    assert scores_in(redis) == scores()
    assert is_warm(redis, best())


def test_asked_for_again_it_looks_at_every_item_though_nothing_was_lost(redis: Redis) -> None:
    players(3)
    restore(best())
    redis.delete(naming.key("tbest"))
    assert restore(best()).items == 0
    assert restore(best(), again=True).items == 3
    assert scores_in(redis) == scores()


def test_what_does_not_come_back_by_itself_is_brought_back_when_asked_for(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    players(5)
    monkeypatch.setattr(BestBackup, "items_lost", lambda self, after, limit: self.items_after(after or "p2", limit))
    assert restore(best()).items == 2
    assert is_warm(redis, best())
    assert scores_in(redis) == {"p3": 3, "p4": 4}
    assert restore(best(), again=True).items == 5
    assert scores_in(redis) == scores()


def test_sql_that_came_back_older_is_another_epoch(redis: Redis) -> None:
    """It forgot the epoch: what it is told of next is written all the same."""
    warm()
    BackupState.objects.all().delete()
    play(redis, "alice", 3)
    flush(best())
    assert scores() == {"alice": 3}


@pytest.mark.parametrize("backup", [best(), baskets()], ids=lambda backup: backup.name)
def test_an_epoch_is_taken_up_only_by_who_saw_the_one_before(
    backup: Backup, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who stood still since before the loss cannot bring the former epoch back."""
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


def test_baskets_need_no_lines(redis: Redis, lives: Lives) -> None:
    """An empty one with a version is not the same as none."""
    put("b", "x", 1)
    flush(baskets())
    past = lives.past()
    put("b", "x", 0)
    flush(baskets())
    lives.come_back(past)
    restore(baskets())
    assert line_of(redis, "b", "x") is None
    assert Basket.objects.get().lines == "{}"
