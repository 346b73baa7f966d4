"""Redis that comes back from an older append-only file: what it forgot is applied again, or everything is rebuilt."""

import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from redis import Redis

from mirror import apply, marker, naming, outbox, registry, relay, sweeper
from mirror.models import Change, State
from mirror.redis import relay_client
from tests.support.faults.crew import Crew
from tests.support.faults.tools import Storm, Watcher, assert_comes_to_rest, assert_exact, is_at_rest
from tests.support.mirror import world
from tests.support.mirror.app.models import Item
from tests.support.servers import PATIENCE_SECONDS, RedisServer, wait_until

pytestmark = pytest.mark.on_postgres


class Past:
    """A Redis as it was, to go back to."""

    def __init__(self, server: RedisServer, folder: Path) -> None:
        self.server, self.folder = server, folder / "older"
        server.copy_aof(self.folder)

    def comes_back(self) -> None:
        """Crash, and start from the older file."""
        self.server.restore_aof(self.folder)
        self.server.start()


def rebuilt() -> dict[str, int]:
    """How many rows were ever rebuilt, by mirror, and which rebuild is under way."""
    return dict(State.objects.values_list("mirror", "rebuild_rows"))


def strike(storm: Storm, times: int) -> None:
    """Hundreds of changes, applied as they come, with the clock written on."""
    for _ in range(times):
        storm.strike()
        sweeper.sweep()


@pytest.fixture
def storm(still: list[Item], redis_server: RedisServer) -> Storm:
    """Warm, swept, and with rows that can be changed."""
    storm = Storm(seed=10, size=100)
    storm.create()
    sweeper.sweep()
    assert is_at_rest()
    return storm


def test_what_was_applied_since_is_replayed_exactly_and_nothing_is_rebuilt(
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


def test_readers_are_answered_by_sql_until_the_replay_is_over(
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
def test_a_worker_replays_by_itself_while_writes_go_on(
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
def test_without_a_clock_that_can_be_trusted_everything_is_rebuilt(
    clock: str, storm: Storm, redis_server: RedisServer, state: Redis, tmp_path: Path
) -> None:
    if clock == "absent":
        state.delete(naming.clock())
    else:
        state.set(naming.clock(), outbox.clock() + (-601 if clock == "older than what is kept" else 3600))
    past = Past(redis_server, tmp_path)
    strike(storm, 3)
    past.comes_back()
    sweeper.sweep()
    assert not any(marker.is_warm(relay_client(), mirror.name) for mirror in registry.all_mirrors())
    world.rest()
    assert is_at_rest()
    assert_exact(state)


@pytest.mark.on_postgres
def test_a_table_that_was_truncated_since_is_not_full_again(
    storm: Storm, redis_server: RedisServer, state: Redis, tmp_path: Path
) -> None:
    """The mirror was cold and to be rebuilt, and now its marker is back."""
    past = Past(redis_server, tmp_path)
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE mirrortest_follow")
    sweeper.sweep()
    past.comes_back()
    sweeper.sweep()
    world.rest()
    assert_exact(state)


@pytest.mark.parametrize("what", ["sweep", "replay"])
def test_redis_may_go_back_in_the_middle_of_anything(
    what: str, storm: Storm, redis_server: RedisServer, state: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was drained in vain is not forgotten, and the clock of the former does not get into the later one."""
    past, drain_all, times = Past(redis_server, tmp_path), relay.drain_all, count()
    strike(storm, 3)
    if what == "replay":
        past.comes_back()

    def drain_and_go_back(*args: Any, **options: Any) -> int:
        found = drain_all(*args, **options)
        if next(times) == 0:
            past.comes_back()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(relay, "drain_all", drain_and_go_back)
        storm.strike()
        sweeper.sweep()
    sweeper.sweep()
    assert is_at_rest()
    assert_exact(state)


class LateDrain(threading.Thread):
    """A drain that the former Redis has answered, and that marks its changes only when it is let go."""

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
        """Let it mark, and wait until it has."""
        self.may_mark.set()
        self.join(PATIENCE_SECONDS)
        assert not self.is_alive()


@pytest.mark.parametrize("moment", ["before", "after unapply_since", "after drain_all"])
def test_a_drain_of_the_former_redis_that_marks_late_is_done_again(
    moment: str, storm: Storm, redis_server: RedisServer, state: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may mark before the replay begins, or in the middle of it."""
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
        goes_on_after(outbox, "unapply_since")
    else:
        goes_on_after(relay, "drain_all")
    sweeper.sweep()
    assert is_at_rest()
    assert_exact(state)
    assert Change.objects.filter(key=str(item.pk), mirror="titem").latest("id").incarnation == marker.now(
        relay_client()
    )
