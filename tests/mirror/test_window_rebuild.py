"""Rebuilding windows: members are corrected, strays are removed, and then the windows are warm."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import status
from mirror.models import Change
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import client, relay_client
from mirror.relay import drains
from mirror.upkeep import rebuild
from mirror.verify import runs, strays
from mirror.warm import marker
from mirror.windows import count as window_count
from mirror.windows import window
from mirror.windows.declare import CUT, WHOLE
from mirror.windows.kinds import LazyKind
from tests.mirror.notes import FEED, about, cut, feed, held, is_right, notes, sliced, warm, whole, writer
from tests.projects.mirrortest.models import Reading, Writer
from tests.support.killed import Killed
from tests.support.mirror import world
from tests.support.mirror.command import run
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
LAZY = ["treading", "tignoring", "tfeed"]


@pytest.fixture(autouse=True)
def chunks_of_two(settings: Settings, committed: None) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 2}


def killed_after(rows: int) -> Callable[[str, int], None]:
    """Return a progress callback that kills the process after so many rows."""
    seen = [0]

    def progress(mirror: str, done: int) -> None:
        seen[0] += done
        if seen[0] >= rows:
            raise Killed

    return progress


def on_read(monkeypatch: pytest.MonkeyPatch, do: Callable[[Sequence[str]], object]) -> None:
    """Call ``do`` with the owners whenever windows are read from SQL."""
    targets = LazyKind.targets

    def told(self: LazyKind, pks: Sequence[str]) -> Any:
        do(pks)
        return targets(self, pks)

    monkeypatch.setattr(LazyKind, "targets", told)


def is_warm(name: str = "tfeed") -> bool:
    return marker.is_warm(client(), name)


def test_eager_windows_are_rebuilt_with_all_members(redis: Redis) -> None:
    for name in "abcde":
        notes(writer(name), 3, name)
    done = {one.mirror: one.rows for one in rebuild.rebuild(["tnotes", "ttopic", "tnewest"])}
    assert done == {"tnotes": 5, "ttopic": 5, "tnewest": 1}
    live = world.dump(redis)
    assert live == {k: v for k, v in world.by_orm().items() if "notes" in k or "topic" in k}
    assert len(live) == 11


@pytest.mark.only_on("single")  # it looks at the marks or keys of one Redis by name
def test_existing_lazy_windows_are_recomputed_and_no_others_are_made(redis: Redis) -> None:
    rebuild.rebuild(LAZY)
    bob = writer("bob")
    alice, carl, dora, emma = (writer(name, bob) for name in "acde")
    (one,) = notes(bob)
    drains.drain_all()
    assert warm(alice)
    assert warm(dora)
    for key in (feed(alice), feed(dora)):
        redis.expire(key, 5000)
        redis.zadd(key, {"7": 7, "x": 3})
        redis.zrem(key, one)
    redis.zadd(feed(carl), {"7": 7})
    redis.zadd(FEED.record_key("999"), {"0": 0})
    (done,) = rebuild.rebuild(["tfeed"])
    assert (done.rows, done.strays, done.skipped) == (5, 2, False)
    assert held(alice) == held(dora) == whole(one)
    assert about(redis.ttl(feed(alice))) == about(redis.ttl(feed(dora))) == 5000
    assert {*redis.keys("*:feed")} == {feed(alice).encode(), feed(dora).encode()}
    assert not redis.exists(feed(emma))
    assert is_warm()


def test_rebuild_of_windows_waits_for_the_required_mirrors(redis: Redis) -> None:
    rebuild.rebuild(["treading"])
    assert rebuild.rebuild(["tfeed"]) == [rebuild.Rebuilt("tfeed", skipped=True, waits=("tignoring",))]
    assert rebuild.rebuild_if_cold("tfeed") == 0
    assert not is_warm()
    assert run("rebuild", "tfeed").out == "tfeed: waiting until these mirrors are warm: tignoring\n"
    world.rest()
    assert is_warm()


def test_windows_are_rebuilt_last(redis: Redis) -> None:
    done = rebuild.rebuild(["tfeed", "tignoring", "treading"])
    assert [one.mirror for one in done] == ["tignoring", "treading", "tfeed"]
    assert not any(one.skipped for one in done)
    redis.flushall()
    assert run("rebuild").code == 0
    assert all(is_warm(name) for name in LAZY)


def test_killed_rebuild_continues_at_its_position(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    rebuild.rebuild(LAZY)
    owners = [writer(name) for name in "abcdefg"]
    assert all(map(warm, owners))
    read: list[str] = []
    on_read(monkeypatch, read.extend)
    with pytest.raises(Killed):
        rebuild.rebuild(["tfeed"], progress=killed_after(4))
    assert not is_warm()
    client().delete(naming.lease("rebuild:tfeed"))  # the lease would expire
    first, seen = set(read), len(read)
    monkeypatch.setattr(strays, "remove", lambda *args: 0)  # the removal of strays would read all windows
    assert rebuild.rebuild(["tfeed"])[0].rows == 7
    assert {str(owner.pk) for owner in owners} == {*first, *read[seen:]}
    assert not {*read[seen:]} & {str(owner.pk) for owner in owners[:4]}
    assert is_warm()


def test_rebuild_starts_over_when_redis_is_emptied(redis: Redis) -> None:
    rebuild.rebuild(LAZY)
    owners = [writer(name) for name in "abcdefg"]
    assert all(map(warm, owners))
    emptied: list[int] = []

    def empty_once(mirror: str, rows: int) -> None:
        if not emptied:
            emptied.append(redis.flushall())

    rebuild.rebuild(["tfeed"], progress=empty_once)
    assert is_warm()
    assert redis.keys("*:feed") == []


def test_windows_are_read_and_written_in_small_batches(
    settings: Settings, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 100, "BATCH": 100}
    monkeypatch.setattr("mirror.windows.kinds.MEMBERS", 2 * FEED.length)
    rebuild.rebuild(LAZY)
    owners = [writer(name) for name in "abcdefg"]
    assert all(map(warm, owners))
    sizes: list[int] = []
    on_read(monkeypatch, lambda pks: sizes.append(len(pks)))
    (done,) = rebuild.rebuild(["tfeed"])
    assert done.rows == 7
    changes.append("tfeed", [str(owner.pk) for owner in owners])
    drains.drain_all()
    assert sizes
    assert max(sizes) == 2


def test_failing_window_stays_pending_and_stops_no_rebuild(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    rebuild.rebuild(LAZY)
    owners = [writer(name) for name in "abc"]
    assert all(map(warm, owners))
    redis.delete(feed(owners[1]))
    redis.zadd(feed(owners[0]), {"7": 7})
    newest = type(FEED).newest
    poisoned = str(owners[2].pk)

    def fails(self: Any, pks: Any, limit: int) -> Any:
        if poisoned in pks:
            raise ValueError("poisoned")
        return newest(self, pks, limit)

    with monkeypatch.context() as patch:
        patch.setattr(type(FEED), "newest", fails)
        patch.setattr(strays, "remove", lambda *args: 0)
        rebuild.rebuild(["tfeed"])
    assert held(owners[0]) == whole()
    assert Change.objects.filter(mirror="tfeed", key=poisoned, applied_at=None).exists()


# --- TRUNCATE, and an emptied Redis


def truncate(table: str) -> None:
    """Empty a table so that its triggers capture it."""
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {table} CASCADE" if connection.vendor == "postgresql" else f"DELETE FROM {table}")


@pytest.mark.parametrize("table", ["mirrortest_note", "mirrortest_reading"])
def test_truncated_table_empties_the_windows(table: str, redis: Redis) -> None:
    world.warm_own()
    bob = writer("bob")
    alice = writer("alice", bob)
    notes(bob, 2)
    world.rest()
    assert warm(alice)
    truncate(table)
    world.rest()
    assert held(alice) == whole()
    assert is_warm()
    assert runs.verify() == []


def test_change_of_everything_makes_windows_cold_until_they_are_rebuilt(redis: Redis) -> None:
    world.warm_own()
    alice = writer("alice")
    (one,) = notes(alice)
    world.rest()
    assert warm(alice)
    redis.zrem(feed(alice), one)
    changes.append("tfeed", [changes.WHOLE])
    drains.drain_all()
    assert not is_warm()
    world.rest()
    assert is_warm()
    assert held(alice) == whole(one)


def test_change_of_everything_in_a_required_mirror_rebuilds_the_windows(redis: Redis) -> None:
    world.warm_own()
    bob = writer("bob")
    alice = writer("alice", bob)
    notes(bob)
    world.rest()
    assert warm(alice)
    Reading.objects.all()._raw_delete("default")
    Change.objects.filter(mirror="treading").delete()
    changes.append("treading", [changes.WHOLE])
    world.rest()
    assert held(alice) == whole()
    assert all(is_warm(name) for name in LAZY)


def test_windows_are_warmed_by_their_readers_after_redis_was_emptied(redis: Redis) -> None:
    world.warm_own()
    alice = writer("alice")
    ids = notes(alice, FEED.length + 2)
    world.rest()
    assert warm(alice)
    redis.flushall()
    assert not warm(alice)
    world.rest()
    assert sliced(alice) is None
    assert warm(alice)
    assert held(alice) == cut(*ids[: FEED.length])
    assert is_right(alice)


# --- the number of windows


def rows(name: str) -> tuple[int, bool]:
    found = {one.mirror: one for one in status.statuses()}[name]
    return found.rows, found.estimated


def test_status_counts_the_windows_in_redis(redis: Redis) -> None:
    rebuild.rebuild(LAZY)
    owners = [writer(name) for name in "abc"]
    for owner in owners:
        notes(owner, 1, owner.name)
    drains.drain_all()
    assert rows("tfeed") == (0, False)
    assert all(map(warm, owners[:2]))
    assert rows("tfeed") == (2, False)
    assert (rows("tnotes"), rows("ttopic"), rows("tnewest")) == ((3, False), (3, False), (1, False))


@pytest.mark.only_on("single")  # it names keys of several slots in one command
def test_number_of_windows_is_estimated_among_many_keys(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_count, "LOOKED_AT", 2000)
    for start in range(0, 8000, 1000):
        redis.mset({f"other:{n}": "" for n in range(start, start + 1000)})
    pipe = redis.pipeline()
    for owner in range(4000):
        pipe.zadd(FEED.record_key(str(owner)), {"0": WHOLE if owner % 2 else CUT})
    pipe.execute()
    count, estimated = rows("tfeed")
    assert estimated
    assert 3200 < count < 4800
    line = next(line for line in run("status").out.splitlines() if line.startswith("tfeed "))
    assert f"about {count}" in line


@pytest.fixture
def many_keys(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write ten times as many keys as a count looks at, none of them a window."""
    monkeypatch.setattr(window_count, "LOOKED_AT", 500)
    redis.mset({f"other:{n}": "" for n in range(5000)})


@pytest.mark.usefixtures("many_keys")
@pytest.mark.only_on("single")  # it names keys of several slots in one command
def test_rare_eager_windows_are_counted_exactly() -> None:
    rebuild.rebuild(LAZY)
    for name in "abc":
        notes(writer(name), 1, name)
    drains.drain_all()
    assert (rows("tnotes"), rows("ttopic"), rows("tnewest")) == ((3, False), (3, False), (1, False))
    line = next(line for line in run("status").out.splitlines() if line.startswith("tnotes "))
    assert "about" not in line


@pytest.mark.usefixtures("many_keys")
@pytest.mark.only_on("single")  # it names keys of several slots in one command
def test_rare_lazy_windows_are_reported_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    Writer.objects.bulk_create(Writer(name=f"writer {n}") for n in range(501))
    assert rows("tfeed") == (0, True)
    line = next(line for line in run("status").out.splitlines() if line.startswith("tfeed "))
    assert " few " in line


def test_number_of_windows_is_unknown_without_redis(redis_server: RedisServer) -> None:
    redis_server.kill()
    assert rows("tfeed") == (-1, False)
    line = next(line for line in run("status").out.splitlines() if line.startswith("tfeed "))
    assert line.split()[2] == "?"


def test_progress_of_a_rebuild_has_a_total_only_for_mirrors_of_rows() -> None:
    writer("a")
    notes(writer("b"), 2)
    assert (status.rows_of("tfeed"), status.rows_of("tnotes")) == (2, 2)
    assert status.rows_of("ttopic") is status.rows_of("tnewest") is None


def test_window_left_in_the_making_is_completed_only_by_a_warm_up(redis: Redis) -> None:
    rebuild.rebuild(LAZY)
    alice = writer("alice")
    redis.zadd(feed(alice), {"0": -2})
    redis.expire(feed(alice), 5000)
    rebuild.rebuild(["tfeed"])
    assert held(alice) == {"0": -2.0}
    assert window.warm(FEED, str(alice.pk), relay_client())
    assert held(alice) == whole()
