"""Redis returns from an older append-only file: lost changes are applied again, or everything is rebuilt."""

import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from redis import Redis

from mirror import registry
from mirror.models import Change, State
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.relay import apply, drains
from mirror.upkeep import rebuild, sweeper
from mirror.warm import marker
from tests.projects.mirrortest.models import Item
from tests.support import warm_mirrors
from tests.support.faults.crew import Crew
from tests.support.faults.tools import Storm, Watcher, assert_comes_to_rest, assert_exact, is_at_rest
from tests.support.mirror import world
from tests.support.servers import PATIENCE_SECONDS, RedisServer, wait_until


class Past:
    """A copy of Redis' data, to which Redis can be reverted."""

    def __init__(self, server: RedisServer, folder: Path) -> None:
        self.server, self.folder = server, folder / "older"
        server.copy_aof(self.folder)

    def comes_back(self) -> None:
        """Kill Redis and start it with the copied data."""
        self.server.restore_aof(self.folder)
        self.server.start()


def rebuilt() -> dict[str, int]:
    """Return the number of rebuilt rows by mirror, as the last rebuilds reported it."""
    return dict(State.objects.values_list("mirror", "rebuild_rows"))


def strike(storm: Storm, times: int) -> None:
    """Write so many times, and sweep after each write, which applies the changes and writes the clock."""
    for _ in range(times):
        storm.strike()
        sweeper.sweep()


@pytest.fixture
def storm(still: list[Item], redis_server: RedisServer) -> Storm:
    """Create rows that change, in warm and swept mirrors."""
    storm = Storm(seed=10, size=100)
    storm.create()
    sweeper.sweep()
    assert is_at_rest()
    return storm


def test_lost_changes_are_replayed_and_nothing_is_rebuilt(
    storm: Storm, redis_server: RedisServer, state: Redis, tmp_path: Path
) -> None:
    past, before = Past(redis_server, tmp_path), rebuilt()
    strike(storm, 8)
    past.comes_back()
    assert world.dump(state) != world.by_orm()
    sweeper.sweep()
    assert is_at_rest()
    assert_exact(state)
    assert rebuilt() == before


def test_readers_are_answered_by_sql_until_the_replay_ends(
    storm: Storm, still: list[Item], redis_server: RedisServer, tmp_path: Path
) -> None:
    past, watcher = Past(redis_server, tmp_path), Watcher(still)
    watcher.look()
    strike(storm, 2)
    past.comes_back()
    watcher.look()
    assert (watcher.by_redis, watcher.by_sql) == (1, 1)
    sweeper.sweep()
    watcher.look()
    assert watcher.by_redis == 2


@pytest.mark.slow
def test_worker_replays_automatically_under_load(
    storm: Storm, redis_server: RedisServer, crew: Crew, state: Redis, tmp_path: Path
) -> None:
    past, before = Past(redis_server, tmp_path), rebuilt()
    strike(storm, 3)
    crew.worker()
    crew.beat()
    clock = state.get(naming.clock())
    wait_until(lambda: state.get(naming.clock()) != clock, "a sweep of the worker")
    past.comes_back()
    for _ in range(5):
        storm.strike()
    assert_comes_to_rest(state)
    assert rebuilt() == before


@pytest.mark.parametrize("clock", ["absent", "older than what is kept", "ahead of SQL"])
def test_everything_is_rebuilt_without_a_valid_clock(
    clock: str, storm: Storm, redis_server: RedisServer, state: Redis, tmp_path: Path
) -> None:
    if clock == "absent":
        state.delete(naming.clock())
    else:
        moment = changes.clock() + (-601 if clock == "older than what is kept" else 3600)
        state.mset(dict.fromkeys((naming.clock(), naming.bare_clock()), moment))
    past = Past(redis_server, tmp_path)
    strike(storm, 3)
    past.comes_back()
    sweeper.sweep()
    assert not any(marker.is_warm(relay_client(), mirror.name) for mirror in registry.all_mirrors())
    rebuild.rebuild(warm_mirrors.SITE)
    world.rest()
    assert is_at_rest()
    assert_exact(state)


@pytest.mark.only_on("postgres")
def test_truncated_table_stays_empty_in_redis(
    storm: Storm, redis_server: RedisServer, state: Redis, tmp_path: Path
) -> None:
    """The mirror was cold and awaited its rebuild, and the older Redis has its marker again."""
    past = Past(redis_server, tmp_path)
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE mirrortest_follow")
    sweeper.sweep()
    past.comes_back()
    sweeper.sweep()
    world.rest()
    assert_exact(state)


@pytest.mark.parametrize("what", ["sweep", "replay"])
def test_redis_may_revert_during_a_sweep_or_a_replay(
    what: str, storm: Storm, redis_server: RedisServer, state: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes drained in vain are applied again. The clock of the former Redis is not written into the next one."""
    past, drain_all, times = Past(redis_server, tmp_path), drains.drain_all, count()
    strike(storm, 3)
    if what == "replay":
        past.comes_back()

    def drain_and_go_back(*args: Any, **options: Any) -> int:
        found = drain_all(*args, **options)
        if next(times) == 0:
            past.comes_back()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(drains, "drain_all", drain_and_go_back)
        storm.strike()
        sweeper.sweep()
    sweeper.sweep()
    assert is_at_rest()
    assert_exact(state)


class LateDrain(threading.Thread):
    """A drain after its transaction on the former Redis. It marks its changes only when it is released."""

    def __init__(self, pk: int) -> None:
        super().__init__()
        self.pk, self.answered, self.may_mark = str(pk), threading.Event(), threading.Event()

    def run(self) -> None:
        try:
            apply.drain(registry.get("titem"), [self.pk], step=self.step)
        finally:
            connections.close_all()

    def step(self, name: str) -> None:
        if name == "mark":
            self.answered.set()
            assert self.may_mark.wait(PATIENCE_SECONDS), "it is not let go"

    def goes_on(self) -> None:
        """Let the drain mark its changes, and wait until it has."""
        self.may_mark.set()
        self.join(PATIENCE_SECONDS)
        assert not self.is_alive()


@pytest.mark.parametrize("moment", ["before", "after unapply_since", "after drain_all"])
def test_changes_marked_late_for_the_former_redis_are_applied_again(
    moment: str, storm: Storm, redis_server: RedisServer, state: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drain marks them before the replay begins or during it."""
    past, item = Past(redis_server, tmp_path), Item.objects.filter(name__startswith="storm")[0]
    Item.objects.filter(pk=item.pk).update(name="renamed in between")
    late = LateDrain(item.pk)
    late.start()
    assert late.answered.wait(PATIENCE_SECONDS), "the drain is not answered"
    past.comes_back()

    def goes_on_after(module: object, name: str) -> None:
        original: Callable[..., int] = getattr(module, name)

        def wrapper(*args: object, **options: object) -> int:
            found = original(*args, **options)
            late.goes_on()
            return found

        monkeypatch.setattr(module, name, wrapper)

    if moment == "before":
        late.goes_on()
    elif moment == "after unapply_since":
        goes_on_after(changes, "unapply_since")
    else:
        goes_on_after(drains, "drain_all")
    sweeper.sweep()
    assert is_at_rest()
    assert_exact(state)
    assert Change.objects.filter(key=str(item.pk), mirror="titem").latest("id").incarnation == marker.now(
        relay_client()
    )
