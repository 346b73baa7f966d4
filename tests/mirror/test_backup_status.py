"""The status of backups, with and without Redis."""

import pytest
from redis import Redis

from mirror.backup.flush import flush
from mirror.backup.status import BackupStatus, statuses
from mirror.redis.recorder import record
from tests.support.mirror.app.backups import baskets, best, play
from tests.support.mirror.backup_world import warm
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed")


def of_best() -> BackupStatus:
    [found] = statuses([best()])
    return found


def test_status_counts_marks_and_gives_the_age_of_the_oldest(redis: Redis) -> None:
    play(redis, "alice", 1)
    play(redis, "bob", 1)
    seconds, micros = redis.time()
    redis.zadd(best().marks(), {"alice": seconds * 1_000_000 + micros - 90_000_000_000})
    found = of_best()
    assert found.marked == 2
    assert round(found.oldest_mark_seconds or 0, -4) == 90_000
    assert found.last_flush is None
    flush(best())
    found = of_best()
    assert (found.marked, found.oldest_mark_seconds) == (0, 0.0)
    assert found.last_flush is not None


def test_quarantined_items_are_counted_apart_and_listed_with_their_errors(redis: Redis) -> None:
    play(redis, "alice", 666)
    flush(best())
    found = of_best()
    assert (found.marked, found.set_aside) == (0, 1)
    assert "IntegrityError" in found.errors["alice"]


def test_backup_is_warm_after_its_restore(redis: Redis) -> None:
    assert of_best().warm is False
    warm()
    assert of_best().warm is True
    redis.flushall()
    assert of_best().warm is False


def test_all_statuses_take_one_round_trip(redis: Redis) -> None:
    statuses()
    with record() as seen:
        assert len(statuses()) > 1
    assert seen.round_trips == 1


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_status_without_redis_has_the_values_from_sql(harm: str, redis_server: RedisServer) -> None:
    warm()
    getattr(redis_server, harm)()
    found = of_best()
    assert (found.warm, found.marked, found.oldest_mark_seconds, found.set_aside) == (None, None, None, None)
    assert (found.backup, found.whole, found.every_seconds) == ("tbest", True, 1.0)
    assert statuses([baskets()])[0].whole is False
