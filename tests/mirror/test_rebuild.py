"""A rebuild ends with a complete, warm mirror whatever happens meanwhile. An incomplete mirror never becomes warm."""

import threading
from collections.abc import Callable, Iterable

import pytest
from django.db import connections
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from mirror import Mirror, registry
from mirror.comparison import scan
from mirror.models import Change, State
from mirror.redis import naming
from mirror.redis.clients import client, relay_client
from mirror.redis.lease import lease
from mirror.redis.recorder import record
from mirror.relay import apply, drains
from mirror.upkeep import rebuild, replay
from mirror.verify.runs import verify
from mirror.warm import marker
from tests.projects.mirrortest.models import Follow, Group, Item, Label, Odd
from tests.support.killed import Killed
from tests.support.mirror import world
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]


@pytest.fixture(autouse=True)
def chunks_of_ten(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 10}


def empty(redis: Redis) -> None:
    redis.flushall()


def codes(count: int) -> None:
    Odd.objects.bulk_create(Odd(code=f"c{n:03}") for n in range(count))
    Change.objects.all()._raw_delete("default")


def arrived(redis: Redis) -> int:
    return len(redis.keys("*todd:*"))


def killed_after(rows: int) -> Callable[[str, int], None]:
    """Return a progress callback that kills the process after so many rows."""
    seen = [0]

    def progress(mirror: str, done: int) -> None:
        seen[0] += done
        if seen[0] >= rows:
            raise Killed

    return progress


def test_rebuild_writes_all_rows_and_makes_the_mirrors_warm(redis: Redis) -> None:
    group, label = Group.objects.create(name="g"), Label.objects.create(name="red")
    for n in range(25):
        Item.objects.create(name=str(n), group=group).labels.add(label)
    Follow.objects.bulk_create(Follow(follower=a, followed=b) for a in range(5) for b in range(5))
    done = {r.mirror: r.rows for r in rebuild.rebuild()}
    assert (done["titem"], done["tgroup"], done["tfollow"], done["latest"]) == (25, 1, 25, 1)
    assert world.dump(redis) == world.by_orm()
    assert all(marker.is_warm(client(), mirror.name) for mirror in registry.all_mirrors())


@pytest.mark.parametrize("count", [0, 1, 10, 11])
def test_no_row_is_missed_at_chunk_boundaries(count: int, redis: Redis) -> None:
    codes(count)
    assert rebuild.rebuild(["t'odd"])[0].rows == arrived(redis) == count


def test_killed_rebuild_continues_at_its_position(redis: Redis) -> None:
    codes(45)
    with pytest.raises(Killed):
        rebuild.rebuild(["t'odd"], progress=killed_after(20))
    client().delete(naming.lease("rebuild:t'odd"))  # the lease would expire
    assert not marker.is_warm(client(), "t'odd")
    again: list[int] = []
    done = rebuild.rebuild(["t'odd"], progress=lambda mirror, rows: again.append(rows))
    assert (sum(again), done[0].rows) == (25, 45)
    assert arrived(redis) == 45
    assert marker.is_warm(client(), "t'odd")


def test_killed_rebuild_starts_over_in_an_emptied_redis(redis: Redis) -> None:
    codes(45)
    with pytest.raises(Killed):
        rebuild.rebuild(["t'odd"], progress=killed_after(20))
    redis.flushall()
    assert rebuild.rebuild(["t'odd"])[0].rows == arrived(redis) == 45


@pytest.mark.parametrize("when", [1, 3])
def test_rebuild_starts_over_when_redis_is_emptied(when: int, redis: Redis) -> None:
    codes(25)
    chunks = [0]

    def emptied_meanwhile(mirror: str, rows: int) -> None:
        chunks[0] += 1
        if chunks[0] == when:
            redis.flushall()

    rebuild.rebuild(["t'odd"], progress=emptied_meanwhile)
    assert arrived(redis) == 25
    assert marker.is_warm(client(), "t'odd")


def test_one_scan_finds_all_mirrors_without_a_key(redis: Redis) -> None:
    with redis.pipeline(transaction=False) as pipe:
        for n in range(3000):
            pipe.set(f"unknown:{n}", "")
        pipe.execute()

    def count_scans(*names: str) -> int:
        with record() as seen:
            rebuild.rebuild(names)
        return sum(command.name == "SCAN" for command in seen.commands)

    assert 3 <= count_scans("tgroup", "tfollow", "t'odd") < 2 * count_scans("titem")
    # The rows of a table mirror are in SQL.
    assert count_scans("title_key") == 1


def test_strays_are_removed_from_a_redis_that_came_after_the_scan(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes(5)
    scan_all, ask = scan.find_absent, marker.now
    earlier = ["earlier"]

    def fail_over_after_scan(mirrors: Iterable[Mirror], server: Redis) -> set[str]:
        found = scan_all(mirrors, server)
        if earlier:
            earlier.clear()
            redis.set("todd:stray", "{}")
        return found

    monkeypatch.setattr(marker, "now", lambda server: earlier[0] if earlier else ask(server))
    monkeypatch.setattr(scan, "find_absent", fail_over_after_scan)
    rebuild.rebuild(["t'odd"])
    assert arrived(redis) == 5


def test_rebuild_gives_up_when_redis_is_emptied_repeatedly(redis: Redis) -> None:
    codes(5)
    with pytest.raises(rebuild.Interrupted, match="t'odd"):
        rebuild.rebuild(["t'odd"], progress=lambda mirror, rows: empty(redis))
    assert not marker.is_warm(client(), "t'odd")


def test_rebuild_raises_when_redis_dies_and_succeeds_later(redis_server: RedisServer) -> None:
    codes(25)
    killed: list[int] = []

    def dies(mirror: str, rows: int) -> None:
        if not killed:
            killed.append(rows)
            redis_server.kill()

    with pytest.raises(RedisConnectionError):
        rebuild.rebuild(["t'odd"], progress=dies)
    redis_server.start()
    client().delete(naming.lease("rebuild:t'odd"))
    rebuild.rebuild(["t'odd"])
    assert marker.is_warm(client(), "t'odd")
    with redis_server.client() as redis:
        assert arrived(redis) == 25


def test_second_rebuild_is_skipped_while_the_lease_is_held() -> None:
    with lease(client(), "rebuild:t'odd", 3600):
        assert rebuild.rebuild(["t'odd"]) == [rebuild.Rebuilt("t'odd", skipped=True)]
        assert rebuild.rebuild_if_cold("t'odd") == 0


def test_overlapping_rebuilds_end_warm_without_starting_over(redis: Redis) -> None:
    codes(45)
    other: list[rebuild.Rebuilt] = []

    def overtaken(mirror: str, rows: int) -> None:
        if not other:
            client().delete(naming.lease("rebuild:t'odd"))
            other.extend(rebuild.rebuild(["t'odd"]))

    mine = rebuild.rebuild(["t'odd"], progress=overtaken)
    assert (other[0].skipped, mine[0].skipped) == (False, True)
    assert marker.is_warm(client(), "t'odd")
    assert arrived(redis) == 45


def test_concurrent_rebuilds_in_threads_end_warm(redis: Redis) -> None:
    codes(60)
    # a process that does not know this Redis yet might cool a mirror that another has just rebuilt
    replay.check(relay_client())
    meet, results = threading.Barrier(2), list[rebuild.Rebuilt]()

    def run() -> None:
        try:
            meet.wait()
            results.extend(rebuild.rebuild(["t'odd"]))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    assert marker.is_warm(client(), "t'odd")
    assert arrived(redis) == 60


def test_rebuild_if_cold_skips_a_warm_mirror() -> None:
    codes(3)
    assert rebuild.rebuild_if_cold("t'odd") == 3
    before = client().get(naming.marker("t'odd"))
    assert rebuild.rebuild_if_cold("t'odd") == 0
    assert client().get(naming.marker("t'odd")) == before


def test_rebuild_if_cold_checks_again_under_the_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codes(3)
    rebuild.rebuild(["t'odd"])
    answers = iter([False])
    is_warm = marker.is_warm
    monkeypatch.setattr(marker, "is_warm", lambda redis, name: next(answers, None) is None and is_warm(redis, name))
    assert rebuild.rebuild_if_cold("t'odd") == 0


def test_state_shows_the_progress_of_a_rebuild() -> None:
    codes(45)
    with pytest.raises(Killed):
        rebuild.rebuild(["t'odd"], progress=killed_after(20))
    state = State.objects.get(mirror="t'odd")
    assert (state.rebuild_rows, state.rebuild_cursor) == (20, "c019")
    client().delete(naming.lease("rebuild:t'odd"))
    rebuild.rebuild(["t'odd"])
    state.refresh_from_db()
    assert (state.rebuild_token, state.rebuild_cursor) == ("", None)


def test_error_for_an_unknown_mirror_lists_the_known_ones() -> None:
    with pytest.raises(registry.UnknownMirror, match=r"'nothing'.*titem"):
        rebuild.rebuild(["nothing"])


def test_full_drain_writes_entries_that_the_record_already_lists(redis: Redis) -> None:
    item = Item.objects.create(name="a")
    drains.drain_all()
    redis.delete("titems:score")
    apply.drain(registry.get("titem"), [str(item.pk)], full=True)
    assert redis.zscore("titems:score", item.pk) == 0


def test_keys_of_the_wrong_type_stop_the_rebuild(monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = registry.get("titem")
    monkeypatch.setattr(mirror, "keys_after", lambda after, limit: [7] if after is None else [])
    with pytest.raises(TypeError, match=r"titem: keys_after\(\) returned the key 7; keys are str"):
        rebuild.rebuild(["titem"])
    assert not marker.is_warm(relay_client(), "titem")


def test_keys_that_do_not_advance_stop_rebuild_and_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    """In SQLite, for example, a BLOB in a text column comes after every text, also after its own."""
    mirror = registry.get("titem")
    monkeypatch.setattr(mirror, "keys_after", lambda after, limit: ["b'7'"])
    for action in (lambda: rebuild.rebuild(["titem"]), lambda: verify(["titem"])):
        with pytest.raises(ValueError, match=r"titem: keys_after\(\"b'7'\"\) returned this key again"):
            action()
    assert not marker.is_warm(relay_client(), "titem")
