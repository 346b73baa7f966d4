"""Marked items reach SQL whatever happens during the flush."""

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from django.db import OperationalError, transaction
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from mirror.backup import marks
from mirror.backup.epoch import Over
from mirror.backup.flush import flush
from mirror.models import BackupState
from mirror.redis import naming
from mirror.redis.clients import relay_client
from tests.support.mirror.app.backups import BestBackup, baskets, best, play, put
from tests.support.mirror.backup_world import Stop, lines, marked, scores, warm
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed")
STEPS = ["claim", "read", "check", "save", "keep", "clear"]
Saved = list[list[str]]


class At:
    """A ``step`` callback that runs ``do`` once, before the step called ``name``."""

    def __init__(self, name: str, do: Any) -> None:
        self.name, self.do, self.done = name, do, False

    def __call__(self, name: str) -> None:
        if name == self.name and not self.done:
            self.done = True
            self.do()


def stop() -> None:
    raise Stop


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> Saved:
    """Collect the items of each call of ``save`` of ``tbest``."""
    found, save = Saved(), BestBackup.save

    def note(self: BestBackup, values: Mapping[str, int | None]) -> None:
        found.append(list(values))
        save(self, values)

    monkeypatch.setattr(BestBackup, "save", note)
    return found


@pytest.fixture
def twos(settings: Settings) -> None:
    """Set the batch size to two items."""
    settings.MIRROR = {**settings.MIRROR, "BATCH": 2}


def test_marked_items_are_written_to_sql_and_unmarked(redis: Redis) -> None:
    play(redis, "alice", 3)
    play(redis, "bob", 4)
    put("b", "x", 2)
    assert flush(best()).items == 2
    assert flush(baskets()).items == 1
    assert scores() == {"alice": 3, "bob": 4}
    assert lines() == {"b": {"x": 2}}
    assert marked(redis, best()) == marked(redis, baskets()) == set()
    assert flush(best()).items == 0


def test_batches_start_with_the_oldest_marks_and_are_sorted_by_item(redis: Redis, saved: Saved, twos: None) -> None:
    for player in ("dave", "carol", "bob", "alice"):
        play(redis, player, 1)
    play(redis, "dave", 2)
    flush(best())
    assert saved == [["bob", "carol"], ["alice", "dave"]]


def test_item_deleted_in_redis_is_deleted_in_sql(redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best())
    play(redis, "alice", -1)
    flush(best())
    assert scores() == {}


def test_item_written_after_it_was_read_stays_marked(redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best(), step=At("clear", lambda: play(redis, "alice", 5)))
    assert scores() == {"alice": 3}
    assert marked(redis, best()) == {"alice"}
    flush(best())
    assert scores() == {"alice": 5}
    assert marked(redis, best()) == set()


@pytest.mark.parametrize("step", STEPS)
def test_item_written_during_a_flush_is_flushed_by_then_or_next_time(step: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best(), step=At(step, lambda: play(redis, "alice", 5)))
    flush(best())
    assert scores() == {"alice": 5}


@pytest.mark.parametrize("step", STEPS)
def test_item_deleted_during_a_flush_is_deleted_in_the_end(step: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best(), step=At(step, lambda: play(redis, "alice", -1)))
    flush(best())
    assert scores() == {}


def test_item_recreated_during_a_flush_is_not_deleted_from_sql(redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best())
    play(redis, "alice", -1)
    flush(best(), step=At("check", lambda: play(redis, "alice", 5)))
    assert scores() == {"alice": 3}


def test_flush_ends_while_other_items_are_being_marked(redis: Redis, saved: Saved, twos: None) -> None:
    for player in ("alice", "bob", "carol"):
        play(redis, player, 1)

    def busy(name: str) -> None:
        if name == "save":
            for number in range(3):
                play(redis, f"other {number}", 1)

    assert flush(best(), step=busy).items == 3


@pytest.mark.parametrize("step", STEPS)
def test_interrupted_flush_loses_nothing(step: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    with pytest.raises(Stop):
        flush(best(), step=At(step, stop))
    flush(best())
    assert scores() == {"alice": 3}
    assert marked(redis, best()) == set()


@pytest.mark.parametrize("step", STEPS)
def test_redis_emptied_during_a_flush_deletes_nothing_from_sql(step: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best())
    play(redis, "alice", 4)
    flush(best(), step=At(step, redis.flushall))
    assert scores() in ({"alice": 3}, {"alice": 4})


@pytest.mark.parametrize("step", STEPS)
def test_concurrent_flushes_do_no_harm(step: str, redis: Redis) -> None:
    """The first flush pauses before a step while the second one flushes a newer value."""
    put("b", "x", 1)

    def overtake() -> None:
        put("b", "x", 2)
        flush(baskets())

    flush(baskets(), step=At(step, overtake))
    flush(baskets())
    assert lines() == {"b": {"x": 2}}
    assert marked(redis, baskets()) == set()


@pytest.mark.parametrize("step", ["read", "check", "save"])
def test_values_read_before_a_loss_are_not_saved_after_the_restore(step: str, redis: Redis) -> None:
    """Otherwise SQL would have newer values than a Redis that counts as complete."""
    play(redis, "alice", 3)
    flush(best())
    warm()
    play(redis, "alice", 7)
    seen: list[bool] = []

    def lose_and_restore() -> None:
        redis.flushall()
        warm()
        seen.append(True)

    flush(best(), step=At(step, lose_and_restore))
    assert seen == [True]
    assert scores() == {"alice": 3}


def test_epoch_that_keeps_ending_raises_instead_of_looping(redis: Redis) -> None:
    play(redis, "alice", 3)

    def lose(name: str) -> None:
        if name == "save":
            BackupState.objects.update(epoch="another")

    with pytest.raises(Over):
        flush(best(), step=lose)
    assert scores() == {}
    assert marked(redis, best()) == {"alice"}


def test_item_refused_by_sql_is_quarantined_and_delays_no_other_item(redis: Redis) -> None:
    for number in range(10):
        play(redis, f"p{number}", 666 if number in (3, 4) else number)
    done = flush(best())
    assert (done.items, done.aside) == (8, 2)
    assert scores() == {f"p{number}": number for number in range(10) if number not in (3, 4)}
    assert marked(redis, best()) == {"p3", "p4"}
    errors = marks.errors(best(), redis, 10)
    assert set(errors) == {"p3", "p4"}
    assert all("IntegrityError" in error for error in errors.values())
    assert flush(best()).aside == 0


def test_quarantined_item_is_retried_after_a_write_or_on_request(redis: Redis) -> None:
    play(redis, "alice", 666)
    play(redis, "bob", 666)
    flush(best())
    play(redis, "alice", 700)
    assert flush(best()).items == 1
    redis.zadd("tbest", {"bob": 5})
    assert flush(best()).items == 0
    assert flush(best(), again=True).items == 1
    assert scores() == {"alice": 700, "bob": 5}
    assert marks.errors(best(), redis, 10) == {}
    assert not redis.exists(naming.aside(best().marks()))


def test_item_missing_from_sql_after_its_save_is_quarantined(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    play(redis, "alice", 1)
    play(redis, "bob", 1)
    monkeypatch.setattr(BestBackup, "kept", lambda self, values: [item for item in values if item != "bob"])
    done = flush(best())
    assert (done.items, done.aside) == (1, 1)
    assert marked(redis, best()) == {"bob"}
    assert marks.errors(best(), redis, 10) == {"bob": "it was written, and SQL does not have it"}


def test_unreadable_item_delays_no_other_item(redis: Redis) -> None:
    put("good", "x", 1)
    put("bad", "x", 1)
    redis.delete("tbasket:bad")
    redis.set("tbasket:bad", "no hash")
    done = flush(baskets())
    assert (done.items, done.aside) == (1, 1)
    assert lines() == {"good": {"x": 1}}
    assert "WRONGTYPE" in marks.errors(baskets(), redis, 10)["bad"]


def test_error_is_deleted_once_its_item_is_unmarked(redis: Redis) -> None:
    play(redis, "alice", 666)
    flush(best())
    redis.zrem(best().marks(), "alice")
    flush(best(), again=True)
    assert not redis.exists(naming.aside(best().marks()))


def test_all_items_stay_marked_while_sql_is_down(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: object) -> None:
        raise OperationalError("away")

    play(redis, "alice", 1)
    with monkeypatch.context() as patch:
        patch.setattr(BestBackup, "save", away)
        with pytest.raises(OperationalError):
            flush(best())
    assert marks.errors(best(), redis, 10) == {}
    assert flush(best()).items == 1


def test_flush_raises_while_redis_is_down(redis_server: RedisServer) -> None:
    redis_server.kill()
    with pytest.raises(RedisConnectionError):
        flush(best())


def test_flush_inside_a_transaction_is_refused(redis: Redis) -> None:
    """The mark would be cleared although the transaction may be rolled back."""
    play(redis, "alice", 1)
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        flush(best())
    assert marked(redis, best()) == {"alice"}
    assert marks.errors(best(), redis, 10) == {}


def test_flush_can_be_limited_to_given_items(redis: Redis) -> None:
    for player in ("alice", "bob", "carol"):
        play(redis, player, 1)
    assert flush(best(), items=["alice", "carol", "nobody"]).items == 2
    assert marked(redis, best()) == {"bob"}


def test_flush_stops_at_its_deadline_and_reports_it(redis: Redis) -> None:
    play(redis, "alice", 1)
    done = flush(best(), 0)
    assert (done.items, done.finished) == (0, False)
    assert flush(best()).finished


def test_version_grows_even_if_the_clock_of_redis_is_set_back(redis: Redis) -> None:
    future = 9_000_000_000_000_000 // 2
    redis.zadd(best().marks(), {"alice": future})
    play(redis, "alice", 1)
    assert marks.versions(best(), relay_client(), ["alice"]) == {"alice": future + 1}
    assert flush(best()).items == 1


def test_versions_are_compared_to_the_microsecond(redis: Redis) -> None:
    play(redis, "alice", 1)
    [version] = marks.versions(best(), redis, ["alice"]).values()
    assert marks.clear(best(), redis, {"alice": version - 1}) == 0
    assert marks.clear(best(), redis, {"alice": version}) == 1


def test_refused_items_are_logged_in_one_line(redis: Redis, caplog: pytest.LogCaptureFixture) -> None:
    play(redis, "alice", 666)
    play(redis, "bob", 666)
    with caplog.at_level(logging.ERROR, "mirror"):
        flush(best())
    [line] = caplog.messages
    assert line.startswith("tbest: 2 items cannot be written to SQL; ")
