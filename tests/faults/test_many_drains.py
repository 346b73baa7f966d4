"""Concurrent drains of one row, and drains that pause between two steps while others continue."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count

import pytest
from django.db import Error as DatabaseError
from django.db import connection
from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.redis.session import Conflict
from mirror.relay import apply, hints
from mirror.relay import drains as relay
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Follow, Group, Item, Label
from tests.support.faults.crew import Crew
from tests.support.faults.tools import again_and_again, assert_exact, at_once
from tests.support.mirror import world
from tests.support.servers import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.also_on("sqlite")

THREADS, DRAINS, WRITES = 8, 60, 20
PROCESSES, DRAINS_OF_EACH = 3, 40
STEPS = ("watch", "read", "write", "mark", "done")


@pytest.fixture(autouse=True)
def no_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drain nothing after a commit: changes stay pending until the test drains them."""
    monkeypatch.setattr(hints, "flush", lambda: None)


@pytest.fixture
def item(transactional_db: None) -> Item:
    """Create an item with a group, and three labels."""
    made = Item.objects.create(name="one", group=Group.objects.create(name="group"))
    Label.objects.bulk_create(Label(name=f"label {n}") for n in range(3))
    return made


def write(item: Item, number: int) -> None:
    """Change everything that the item contributes: name, score, labels and visibility; and a follow."""
    Item.objects.filter(pk=item.pk).update(name=f"name {number}", score=number, hidden=number % 5 == 4)
    item.labels.set(Label.objects.filter(name__in=[f"label {number % 3}", f"label {number % 2}"]))
    if number % 2:
        Follow.objects.get_or_create(follower=1, followed=2)
    else:
        Follow.objects.all()._raw_delete("default")


@pytest.mark.slow
def test_concurrent_drains_in_threads_leave_the_row_equal_to_sql(item: Item, redis: Redis) -> None:
    world.warm()
    drains, numbers = list[None](), count()

    def drain() -> None:
        for name, pk in (("titem", str(item.pk)), ("tfollow", "1:2"), ("latest", "")):
            with suppress(Conflict):  # after twenty conflicts, the other drains have written the row
                apply.drain(registry.get(name), [pk])
        drains.append(None)

    def all_is_done() -> bool:
        write(item, number := next(numbers))
        return len(drains) >= THREADS * DRAINS and number >= WRITES

    with again_and_again(*[drain] * THREADS):
        wait_until(all_is_done, "so many drains, and so many writes meanwhile")
    relay.drain_all()
    assert_exact(redis)


@pytest.mark.slow
def test_concurrent_drains_in_processes_leave_the_row_equal_to_sql(crew: Crew, item: Item, state: Redis) -> None:
    world.warm()
    numbers = count()
    for n in range(PROCESSES):
        crew.start(f"drainer {n}", f"tests.faults.children repeat {item.pk}")

    def all_have_drained() -> bool:
        write(item, next(numbers))
        done = state.hvals("drains")
        return len(done) == PROCESSES and min(map(int, done)) >= DRAINS_OF_EACH

    wait_until(all_have_drained, "so many drains by each process")
    crew.kill_all()
    relay.drain_all()
    assert_exact(state)


class Standing(threading.Event):
    """A drain that pauses before one of its steps until it is released. It may lose its database connection then."""

    def __init__(self, step: str, name: str, *pks: object, database_dies: bool) -> None:
        super().__init__()
        self.step, self.name, self.pks, self.dies = step, name, [str(pk) for pk in pks], database_dies
        self.stands = threading.Event()

    def drain(self) -> None:
        errors = (DatabaseError,) if self.dies else ()
        with suppress(*errors):
            apply.drain(registry.get(self.name), self.pks, step=self.stand)

    def stand(self, step: str) -> None:
        if step == self.step and not self.stands.is_set():
            connection.ensure_connection()
            self.stands.set()
            assert self.wait(PATIENCE_SECONDS), "it is not let go"
            if self.dies:
                assert connection.connection is not None
                connection.connection.close()  # without Django's knowledge


@pytest.mark.parametrize("database_dies", [False, True], ids=["and goes on", "and has lost SQL"])
@pytest.mark.parametrize("step", STEPS)
def test_paused_drain_overwrites_nothing_newer(step: str, database_dies: bool, item: Item, redis: Redis) -> None:
    gone, one, two = (Item.objects.create(name=name) for name in ("gone", "first", "second"))
    write(item, 0)
    world.warm()
    write(item, 1)
    Follow.objects.create(follower=3, followed=4)
    drains = [
        Standing(step, name, *pks, database_dies=database_dies)
        for name, *pks in (
            ("titem", item.pk, gone.pk, one.pk, two.pk),
            ("tfollow", "1:2", "3:4", "5:6"),
            ("tgroup", item.group_id),
            ("latest", ""),
        )
    ]
    with at_once(*(drain.drain for drain in drains)):
        for drain in drains:
            assert drain.stands.wait(PATIENCE_SECONDS), f"{drain.name} does not come to {step}"
        write(item, 2)
        gone.delete()
        Item.objects.filter(pk=one.pk).update(name="third")
        Item.objects.filter(pk=two.pk).update(name="first")
        Item.objects.filter(pk=one.pk).update(name="second")
        Follow.objects.create(follower=5, followed=6)
        Item.objects.create(name="newest", group=item.group)
        relay.drain_all()
        for drain in drains:
            drain.set()
    assert world.dump(redis) == world.by_orm()
    relay.drain_all()
    assert not Change.objects.pending().exists()
    assert_exact(redis)


def test_change_committed_while_rows_are_read_stays_pending(
    item: Item, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.warm()
    write(item, 1)
    load, loads = ItemMirror.load, count()

    def load_and_be_late(self: ItemMirror, pks: Sequence[str]) -> Mapping[str, Item]:
        rows = load(self, pks)
        if next(loads) == 0:
            write(item, 2)
        return rows

    monkeypatch.setattr(ItemMirror, "load", load_and_be_late)
    apply.drain(registry.get("titem"), [str(item.pk)])
    relay.drain_all()
    assert_exact(redis)
