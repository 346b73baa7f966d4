"""What is marked goes to SQL, whatever happens on the way."""

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from django.db import OperationalError, transaction
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from mirror import naming
from mirror.backup import marks
from mirror.backup.epoch import Over
from mirror.backup.flush import flush
from mirror.models import BackupState
from mirror.redis import relay_client
from tests.support.mirror.app.backups import BestBackup, baskets, best, play, put
from tests.support.mirror.backup_world import Stop, lines, marked, scores, warm
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed")
STEPS = ["claim", "read", "check", "save", "keep", "clear"]
Saved = list[list[str]]


class At:
    """A ``step`` that does something before the step of that name, once."""

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
    """The items of each save of ``tbest``."""
    found, save = Saved(), BestBackup.save

    def note(self: BestBackup, values: Mapping[str, int | None]) -> None:
        found.append(list(values))
        save(self, values)

    monkeypatch.setattr(BestBackup, "save", note)
    return found


@pytest.fixture
def twos(settings: Settings) -> None:
    """Batches of two items."""
    settings.MIRROR = {**settings.MIRROR, "BATCH": 2}


def test_what_is_marked_is_written_to_sql_and_marked_no_more(redis: Redis) -> None:
    play(redis, "alice", 3)
    play(redis, "bob", 4)
    put("b", "x", 2)
    assert flush(best()).items == 2
    assert flush(baskets()).items == 1
    assert scores() == {"alice": 3, "bob": 4}
    assert lines() == {"b": {"x": 2}}
    assert marked(redis, best()) == marked(redis, baskets()) == set()
    assert flush(best()).items == 0


def test_the_oldest_go_first_in_batches_each_in_ascending_order(redis: Redis, saved: Saved, twos: None) -> None:
    for player in ("dave", "carol", "bob", "alice"):
        play(redis, player, 1)
    play(redis, "dave", 2)
    flush(best())
    assert saved == [["bob", "carol"], ["alice", "dave"]]


def test_what_is_deleted_in_redis_is_deleted_in_sql(redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best())
    play(redis, "alice", -1)
    flush(best())
    assert scores() == {}


def test_what_is_written_after_it_was_read_stays_marked(redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best(), step=At("clear", lambda: play(redis, "alice", 5)))
    assert scores() == {"alice": 3}
    assert marked(redis, best()) == {"alice"}
    flush(best())
    assert scores() == {"alice": 5}
    assert marked(redis, best()) == set()


@pytest.mark.parametrize("step", STEPS)
def test_what_is_written_meanwhile_arrives_with_it_or_later(step: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best(), step=At(step, lambda: play(redis, "alice", 5)))
    flush(best())
    assert scores() == {"alice": 5}


@pytest.mark.parametrize("step", STEPS)
def test_what_is_deleted_meanwhile_is_gone_in_the_end(step: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best(), step=At(step, lambda: play(redis, "alice", -1)))
    flush(best())
    assert scores() == {}


def test_what_was_deleted_and_is_made_again_meanwhile_is_not_taken_from_sql(redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best())
    play(redis, "alice", -1)
    flush(best(), step=At("check", lambda: play(redis, "alice", 5)))
    assert scores() == {"alice": 3}


def test_what_others_mark_meanwhile_is_not_waited_for(redis: Redis, saved: Saved, twos: None) -> None:
    for player in ("alice", "bob", "carol"):
        play(redis, player, 1)

    def busy(name: str) -> None:
        if name == "save":
            for number in range(3):
                play(redis, f"other {number}", 1)

    assert flush(best(), step=busy).items == 3


@pytest.mark.parametrize("step", STEPS)
def test_stopped_before_any_step_it_loses_nothing(step: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    with pytest.raises(Stop):
        flush(best(), step=At(step, stop))
    flush(best())
    assert scores() == {"alice": 3}
    assert marked(redis, best()) == set()


@pytest.mark.parametrize("step", STEPS)
def test_redis_emptied_before_any_step_takes_nothing_from_sql(step: str, redis: Redis) -> None:
    play(redis, "alice", 3)
    flush(best())
    play(redis, "alice", 4)
    flush(best(), step=At(step, redis.flushall))
    assert scores() in ({"alice": 3}, {"alice": 4})


@pytest.mark.parametrize("step", STEPS)
def test_two_flushers_at_once_do_no_harm(step: str, redis: Redis) -> None:
    """One stands still before a step while something newer is flushed by the other."""
    put("b", "x", 1)

    def overtake() -> None:
        put("b", "x", 2)
        flush(baskets())

    flush(baskets(), step=At(step, overtake))
    flush(baskets())
    assert lines() == {"b": {"x": 2}}
    assert marked(redis, baskets()) == set()


@pytest.mark.parametrize("step", ["read", "check", "save"])
def test_what_was_read_before_redis_was_lost_is_not_written_after_it_was_restored(step: str, redis: Redis) -> None:
    """Else SQL would be newer than a Redis that is believed to have nothing older."""
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


def test_an_epoch_that_ends_again_and_again_is_an_error_and_no_endless_loop(redis: Redis) -> None:
    play(redis, "alice", 3)

    def lose(name: str) -> None:
        if name == "save":
            BackupState.objects.update(epoch="another")

    with pytest.raises(Over):
        flush(best(), step=lose)
    assert scores() == {}
    assert marked(redis, best()) == {"alice"}


def test_an_item_that_sql_refuses_holds_up_no_other_and_is_set_aside_with_its_error(redis: Redis) -> None:
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


def test_what_was_set_aside_is_tried_again_when_it_is_written_or_asked_for(redis: Redis) -> None:
    play(redis, "alice", 666)
    play(redis, "bob", 666)
    flush(best())
    play(redis, "alice", 700)
    assert flush(best()).items == 1
    redis.zadd(naming.key("tbest"), {"bob": 5})
    assert flush(best()).items == 0
    assert flush(best(), again=True).items == 1
    assert scores() == {"alice": 700, "bob": 5}
    assert marks.errors(best(), redis, 10) == {}
    assert not redis.exists(naming.aside(best().marks()))


def test_what_sql_does_not_have_after_it_was_written_stays_marked_and_is_set_aside(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(redis, "alice", 1)
    play(redis, "bob", 1)
    monkeypatch.setattr(BestBackup, "kept", lambda self, values: [item for item in values if item != "bob"])
    done = flush(best())
    assert (done.items, done.aside) == (1, 1)
    assert marked(redis, best()) == {"bob"}
    assert marks.errors(best(), redis, 10) == {"bob": "it was written, and SQL does not have it"}


def test_an_item_that_cannot_be_read_holds_up_no_other(redis: Redis) -> None:
    put("good", "x", 1)
    put("bad", "x", 1)
    redis.delete(naming.key("tbasket:bad"))
    redis.set(naming.key("tbasket:bad"), "no hash")
    done = flush(baskets())
    assert (done.items, done.aside) == (1, 1)
    assert lines() == {"good": {"x": 1}}
    assert "WRONGTYPE" in marks.errors(baskets(), redis, 10)["bad"]


def test_errors_of_items_that_went_another_way_are_forgotten(redis: Redis) -> None:
    play(redis, "alice", 666)
    flush(best())
    redis.zrem(best().marks(), "alice")
    flush(best(), again=True)
    assert not redis.exists(naming.aside(best().marks()))


def test_with_sql_away_everything_stays_marked_and_nothing_is_set_aside(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: object) -> None:
        raise OperationalError("away")

    play(redis, "alice", 1)
    with monkeypatch.context() as patch:
        patch.setattr(BestBackup, "save", away)
        with pytest.raises(OperationalError):
            flush(best())
    assert marks.errors(best(), redis, 10) == {}
    assert flush(best()).items == 1


def test_with_redis_away_nothing_is_done(redis_server: RedisServer) -> None:
    redis_server.kill()
    with pytest.raises(RedisConnectionError):
        flush(best())


def test_inside_a_transaction_it_refuses_to_run(redis: Redis) -> None:
    """The mark would be cleared, and the transaction could be rolled back."""
    play(redis, "alice", 1)
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        flush(best())
    assert marked(redis, best()) == {"alice"}
    assert marks.errors(best(), redis, 10) == {}


def test_only_the_items_that_are_asked_for_are_flushed(redis: Redis) -> None:
    for player in ("alice", "bob", "carol"):
        play(redis, player, 1)
    assert flush(best(), items=["alice", "carol", "nobody"]).items == 2
    assert marked(redis, best()) == {"bob"}


def test_when_its_time_is_over_it_stops_and_says_so(redis: Redis) -> None:
    play(redis, "alice", 1)
    done = flush(best(), 0)
    assert (done.items, done.finished) == (0, False)
    assert flush(best()).finished


def test_a_clock_that_was_set_back_makes_no_version_older(redis: Redis) -> None:
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
