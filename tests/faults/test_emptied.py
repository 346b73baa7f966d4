"""Redis is emptied: readers notice at once, it is rebuilt automatically, and a partial mirror is never believed."""

import random
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count

import pytest
from django.db import connections
from redis import Redis

from mirror.declare.mirrors import Mirror
from mirror.redis import naming
from mirror.upkeep import rebuild
from mirror.warm import marker
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Item
from tests.support.faults.crew import Crew
from tests.support.faults.tools import Storm, Watcher, again_and_again, assert_comes_to_rest, assert_exact
from tests.support.servers import PATIENCE_SECONDS, wait_until


def test_readers_are_answered_by_sql_as_soon_as_redis_is_emptied(still: list[Item], state: Redis) -> None:
    watcher = Watcher(still)
    watcher.look()
    state.flushall()
    watcher.look()
    assert (watcher.by_redis, watcher.by_sql) == (1, 1)


@pytest.mark.slow
def test_emptied_redis_is_rebuilt_automatically_under_load(still: list[Item], crew: Crew, state: Redis) -> None:
    crew.worker()
    crew.beat()
    watcher, storm = Watcher(still), Storm(seed=7, size=50)
    storm.create()
    with again_and_again(watcher.look, storm.blow):
        watcher.sees_redis()
        before = watcher.by_sql
        state.flushall()
        wait_until(lambda: watcher.by_sql > before, "a read by SQL")
        watcher.sees_redis()
    assert_comes_to_rest(state)


@pytest.mark.slow
def test_partial_mirror_is_never_believed_when_redis_is_emptied_during_rebuilds(
    still: list[Item], state: Redis
) -> None:
    """Two rebuilds run at a time, because the emptied Redis has lost their leases."""
    Storm(seed=8, size=1500).create()
    watcher, moments = Watcher(still), random.Random(9)

    def rebuilding() -> None:
        for name in ("tfollow", "titem"):
            with suppress(rebuild.Interrupted):
                rebuild.rebuild_if_cold(name)

    with again_and_again(watcher.look, rebuilding, rebuilding):
        for _ in range(15):
            time.sleep(moments.uniform(0, 0.3))  # at any moment of a rebuild
            state.flushall()
        watcher.sees_redis()
    rebuild.rebuild_if_cold("tgroup")
    rebuild.rebuild_if_cold("latest")
    assert_exact(state)


def test_outdated_rebuild_does_not_disturb_one_that_began_after_the_loss(
    still: list[Item], state: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis is emptied while the first rebuild loads a part. The second rebuild then begins and pauses."""
    load, go_on, parts = ItemMirror.load, threading.Event(), count()
    watcher, second = Watcher(still), threading.Thread(target=_rebuild_items)

    def load_in_a_bad_moment(self: ItemMirror, pks: Sequence[str]) -> Mapping[str, Item]:
        if threading.current_thread() is second:
            assert go_on.wait(PATIENCE_SECONDS), "it is not let go"
        elif next(parts) == 1:
            state.flushall()
            second.start()
            wait_until(lambda: state.exists(naming.building("titem")), "the start of the second rebuild")
        return load(self, pks)

    monkeypatch.setattr(ItemMirror, "load", load_in_a_bad_moment)
    try:
        rebuild.rebuild(["titem"])
        rebuild.rebuild(["tfollow"])
        watcher.look()
    finally:
        go_on.set()
        second.join(PATIENCE_SECONDS)
    watcher.look()
    assert watcher.by_redis


def test_redis_emptied_just_before_the_marker_is_set_does_not_become_warm(
    still: list[Item], state: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_after_rebuild, flushes, watcher = marker.set_after_rebuild, count(), Watcher(still)

    def flush_first(mirror: Mirror, redis: Redis, token: str) -> bool:
        if next(flushes) == 0:
            state.flushall()
        return set_after_rebuild(mirror, redis, token)

    monkeypatch.setattr(marker, "set_after_rebuild", flush_first)
    rebuild.rebuild(["titem", "tfollow"])
    watcher.look()
    assert watcher.by_redis


def _rebuild_items() -> None:
    try:
        rebuild.rebuild(["titem"])
    finally:
        connections.close_all()
