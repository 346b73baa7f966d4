"""Concurrent writers: one drain does the work of all, and no writer waits for long."""

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable

import pytest
from django.db import connection
from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.outbox import changes
from mirror.redis.recorder import record
from mirror.redis.session import Conflict
from mirror.relay import apply, drains, hints
from tests.projects.mirrortest.models import Item
from tests.support.faults.tools import at_once
from tests.support.mirror import world
from tests.support.servers import wait_until

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.also_on("sqlite", "cluster")]


@pytest.fixture
def no_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drain nothing after a commit: changes stay pending until the test drains them."""
    monkeypatch.setattr(hints, "flush", lambda: None)


@pytest.mark.usefixtures("no_hints")
def test_first_drain_of_a_summary_applies_the_changes_of_all_writers(redis: Redis) -> None:
    world.warm_own()
    for name in ("first", "second"):
        Item.objects.create(name=name)
    drained = apply.drain(registry.get("latest"), [""])
    assert drained.changes == 2
    assert not changes.pending_at_all("latest", 1)
    with record() as seen:
        assert apply.drain(registry.get("latest"), [""]).changes == 0
    assert len(seen.sql) == 1
    assert not any(command.name == "EXEC" for command in seen.commands)
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()


@pytest.mark.usefixtures("no_hints")
def test_drain_of_a_summary_marks_a_bounded_number_of_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MOST", 3)
    for n in range(8):
        Item.objects.create(name=f"item {n}")
    assert apply.drain(registry.get("latest"), [""]).changes == 3
    assert len(changes.pending_at_all("latest", 10)) == 5
    drains.drain_all()
    assert not Change.objects.pending().exists()


def in_the_way(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make every write of a drain fail with a conflict. Return a list with one item per attempt."""
    tried: list[str] = []

    def finish(drain: apply.RedisDrain) -> apply.Drained:
        drain.abandon()
        tried.append("")
        raise Conflict

    monkeypatch.setattr(apply.RedisDrain, "finish", finish)
    return tried


@pytest.mark.usefixtures("no_hints")
def test_request_leaves_contended_rows_to_other_drains(monkeypatch: pytest.MonkeyPatch) -> None:
    Item.objects.bulk_create(Item(name=f"item {n}") for n in range(50))
    with monkeypatch.context() as patch:
        tried = in_the_way(patch)
        due = defaultdict(set)
        for mirror, key in Change.objects.pending().values_list("mirror", "key"):
            due[mirror, ""].add(key)
        hints.drain(dict(due), drains.Deadline())
    assert len(tried) == drains.HASTY * (1 + len(due))  # together, and mirror by mirror
    assert not Change.objects.quarantined().exists()
    drains.drain_all()
    assert not Change.objects.pending().exists()


@pytest.mark.usefixtures("no_hints")
def test_relay_splits_a_contended_batch_down_to_single_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    items = Item.objects.bulk_create(Item(name=f"item {n}") for n in range(4))
    tried = in_the_way(monkeypatch)
    monkeypatch.setattr(apply, "TRIES", 1)
    drains.drain_keys("titem", [str(item.pk) for item in items], tries=20)
    assert len(tried) > 7


@pytest.mark.only_on("single")  # it counts the commands or round trips of one Redis
def test_own_rows_are_drained_before_shared_summaries() -> None:
    with record() as seen:
        item = Item.objects.create(name="item")
    written = [key for command in seen.commands if command.name in ("MSET", "RPUSH") for key in command.named()]
    assert written.index("titems:latest") == len(written) - 1 > written.index(f"titem:{item.pk}")


def waiting(job: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=job)
    thread.start()
    return thread


def test_threads_take_turns_at_shared_summaries() -> None:
    got: list[bool] = []

    def second() -> None:
        with drains.lock_summaries(3600) as mine:
            got.append(mine)

    with drains.lock_summaries(0) as mine:
        assert mine
        with drains.lock_summaries(0) as again:
            assert not again
        thread = waiting(second)
        assert got == []
    thread.join()
    assert got == [True]
    with drains.lock_summaries(0) as mine:
        assert mine


@pytest.mark.slow
def test_thirty_threads_saving_at_once_leave_redis_equal_to_sql(redis: Redis) -> None:
    world.warm_own()

    numbers = itertools.count()

    def save() -> None:
        for _ in range(5):
            Item.objects.create(name=f"item {next(numbers)}")

    with at_once(*[save] * 30):
        pass
    wait_until(lambda: drains.drain_all() == 0, "the rest being drained")
    assert Item.objects.count() == 150
    assert world.dump(redis) == world.by_orm()
    connection.close()
