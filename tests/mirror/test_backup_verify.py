"""Verification compares SQL and Redis in both directions and reports only lasting differences."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror.backup import verify as verifying
from mirror.backup.declare import Backup
from mirror.backup.flush import flush
from mirror.backup.restore import put_right
from mirror.backup.verify import verify
from mirror.models import BackupState
from tests.support.mirror.app.backups import BestBackup, baskets, best, play, put
from tests.support.mirror.app.models import Basket, Best
from tests.support.mirror.backup_world import lines, marked, scores, scores_in, warm

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture(autouse=True)
def small_chunks(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 2}


@pytest.fixture
def spoilt(redis: Redis) -> None:
    """Create one difference of each kind."""
    for number in range(5):
        play(redis, f"p{number}", number)
    flush(best())
    key = "tbest"
    redis.zrem(key, "p0")
    redis.zadd(key, {"p1": 100, "p5": 5, "nobody 6": 6})
    Best.objects.filter(player="p2").update(score=200)


def test_flushed_backups_have_no_differences(redis: Redis) -> None:
    play(redis, "alice", 3)
    put("b", "x", 1)
    flush(best())
    flush(baskets())
    assert verify(best()) == verify(baskets()) == []


def test_every_kind_of_difference_is_found(spoilt: None) -> None:
    found = {d.item: (d.kind, d.sql, d.redis) for d in verify(best())}
    assert found == {
        "p0": ("missing", "0", None),
        "p1": ("stale", "1", "100"),
        "p2": ("stale", "200", "2"),
        "p5": ("unsaved", None, "5"),
        "nobody 6": ("stray", None, "6"),
    }
    assert BackupState.objects.get(backup="tbest").differences == 5


def test_repair_keeps_the_newer_value(spoilt: None, redis: Redis) -> None:
    assert put_right(best(), verify(best())) == []
    assert scores() == scores_in(redis) == {"p0": 0, "p1": 100, "p2": 200, "p3": 3, "p4": 4, "p5": 5}
    assert verify(best()) == []


def test_repair_returns_items_that_it_could_not_repair(redis: Redis) -> None:
    redis.zadd("tbest", {"alice": 666})
    assert put_right(best(), verify(best())) == []
    assert marked(redis, best()) == {"alice"}
    Best.objects.create(player="bob", score=3)
    redis.zadd("tbest", {"bob": 2})
    found = verify(best())

    def refuse(self: BestBackup, *args: object) -> None:
        """Do nothing."""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BestBackup, "put_back", refuse)
        assert [d.item for d in put_right(best(), found)] == ["bob"]


def test_marked_items_are_skipped(spoilt: None, redis: Redis) -> None:
    for player in ("p0", "p1", "p2", "p5", "nobody 6"):
        redis.zadd(best().marks(), {player: 1})
    redis.zadd(best().marks(), {"p1": -1})
    assert verify(best()) == []


def test_items_that_a_partial_backup_lacks_are_no_differences(redis: Redis) -> None:
    put("b", "x", 1)
    flush(baskets())
    redis.flushall()
    assert verify(baskets()) == []
    Basket.objects.all().delete()
    put("c", "x", 1)
    flush(baskets())
    Basket.objects.update(version=1)
    assert [d.kind for d in verify(baskets())] == ["stale"]


@pytest.mark.parametrize("late", [1, 2])
def test_difference_that_disappears_is_not_reported(late: int, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQL and Redis are not read at the same moment, so a difference counts only if it lasts."""
    play(redis, "alice", 3)
    flush(best())
    Best.objects.update(score=4)
    look, looks = verifying._look, list[Callable[..., object]]()

    def count(*args: object) -> object:
        if len(looks) == late:
            Best.objects.update(score=3)
        looks.append(look)
        return look(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(verifying, "_look", count)
    assert verify(best()) == []


@pytest.fixture
def each_look(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Return a function that registers work to be done before each comparison."""
    look = verifying._look

    def arrange(do: Callable[[], object]) -> None:
        def before(*args: Any) -> Any:
            do()
            return look(*args)

        monkeypatch.setattr(verifying, "_look", before)

    return arrange


def test_item_flushed_between_the_two_reads_is_no_difference(
    redis: Redis, each_look: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The item is marked before the comparison and unmarked after it."""
    load, score = BestBackup.load, iter(range(4, 100))

    def flushed(self: BestBackup, items: list[str]) -> Any:
        found = load(self, items)
        with monkeypatch.context() as patch:
            patch.setattr(BestBackup, "load", load)
            flush(best())
        return found

    play(redis, "alice", 3)
    flush(best())
    each_look(lambda: play(redis, "alice", next(score)))
    monkeypatch.setattr(BestBackup, "load", flushed)
    assert verify(best(), items=["alice"]) == []


def test_item_written_between_the_two_reads_is_no_difference(
    redis: Redis, each_look: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The item is unmarked before the comparison and marked after it."""
    read, score = Backup.read, iter(range(4, 100))

    def written(self: BestBackup, client: Any, items: list[str]) -> Any:
        play(redis, "alice", next(score))
        return read(self, client, items)

    def flush_quietly() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(BestBackup, "read", read)
            flush(best())

    play(redis, "alice", 3)
    each_look(flush_quietly)
    monkeypatch.setattr(BestBackup, "read", written)
    assert verify(best(), items=["alice"]) == []


def test_baskets_lost_by_sql_are_unsaved_and_written_again(redis: Redis) -> None:
    put("b", "x", 1)
    flush(baskets())
    warm()
    Basket.objects.all().delete()
    found = verify(baskets())
    assert [(d.item, d.kind) for d in found] == [("b", "unsaved")]
    assert put_right(baskets(), found) == []
    assert lines() == {"b": {"x": 1}}
