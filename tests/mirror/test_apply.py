"""Draining makes Redis equal to SQL at a fixed price, even while other drains write the same rows."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from django.db import ProgrammingError, transaction
from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.outbox import changes
from mirror.outbox.identity import database_identity
from mirror.redis.recorder import record
from mirror.redis.session import Conflict
from mirror.relay import apply, drains
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Group, Item, Label, Odd
from tests.support.killed import Killed, before
from tests.support.mirror import world
from tests.support.mirror.items import drained, make

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("sqlite", "cluster")]
ITEM, ODD = registry.get("titem"), registry.get("t'odd")


def test_draining_a_known_key_takes_two_round_trips_and_three_statements() -> None:
    Odd.objects.create(code="a")
    apply.drain(ODD, ["a"])  # opens the connections
    Odd.objects.update(code="a")
    with record() as seen:
        assert apply.drain(ODD, ["a"]) == (1, 1)
    assert (seen.round_trips, len(seen.sql)) == (2, 3)


def test_draining_500_keys_takes_as_many_round_trips_as_one() -> None:
    Odd.objects.bulk_create(Odd(code=str(n)) for n in range(500))
    apply.drain(ODD, ["none"])
    database_identity()
    with record() as seen:
        assert apply.drain(ODD, [str(n) for n in range(500)]) == (500, 500)
    assert (seen.round_trips, len(seen.sql)) == (2, 3)


def test_created_updated_hidden_and_deleted_rows_reach_redis(redis: Redis) -> None:
    item = make("a", "red", "round", score=1)
    drained()
    assert world.dump(redis) == world.by_orm()
    item.name, item.score = "b", 2
    item.save()
    item.labels.set([Label.objects.get(name="red")])
    drained()
    assert world.dump(redis) == world.by_orm()
    Item.objects.update(hidden=True)
    drained()
    assert set(world.dump(redis)) == {"titems:latest"}
    item.delete()
    drained()
    assert world.dump(redis) == {}


@pytest.mark.parametrize("step", ["watch", "read", "write", "mark"])
def test_crash_before_any_step_leaves_the_change_pending(step: str, redis: Redis) -> None:
    item = make("a", "red")
    with pytest.raises(Killed):
        apply.drain(ITEM, [str(item.pk)], step=before(step))
    assert Change.objects.pending().filter(mirror="titem", source="").exists()
    drained()
    assert world.dump(redis) == world.by_orm()


@pytest.mark.parametrize("step", ["read", "write"])
def test_overtaken_drain_starts_over_with_newer_rows(step: str, redis: Redis) -> None:
    item = make("a", score=1)
    tries: list[str] = []

    def overtake(at: str) -> None:
        if at == step:
            tries.append(at)
            if len(tries) == 1:
                Item.objects.update(score=2)
                drains.drain_all()

    apply.drain(ITEM, [str(item.pk)], step=overtake)
    assert len(tries) == 2
    assert world.dump(redis)["titems:score"] == {str(item.pk): 2.0}


def test_drain_overtaken_by_equal_values_starts_over(redis: Redis) -> None:
    """The other drain has marked changes, so this one may hold rows that are older than those changes."""
    item = make("a")
    tries: list[str] = []

    def overtake(at: str) -> None:
        if at == "write":
            tries.append(at)
            if len(tries) == 1:
                apply.drain(ITEM, [str(item.pk)])

    apply.drain(ITEM, [str(item.pk)], step=overtake)
    assert len(tries) == 2


@pytest.mark.only_on("single")  # its own write breaks a WATCH, and a cluster has fences
def test_drain_that_is_always_overtaken_raises_conflict(redis: Redis) -> None:
    item = make("a")
    with pytest.raises(Conflict, match="titem"):
        apply.drain(
            ITEM, [str(item.pk)], step=lambda at: redis.set(ITEM.record_key(str(item.pk)), "{}") if at == "read" else 0
        )
    assert Change.objects.pending().filter(mirror="titem").exists()


class Late(ItemMirror):
    """An item mirror during whose ``load`` another writer commits a change."""

    meanwhile: Callable[[], object]

    def load(self, pks: Sequence[str]) -> Mapping[str, Item]:
        rows = super().load(pks)
        self.meanwhile()
        return rows


def test_change_committed_after_the_rows_were_read_stays_pending() -> None:
    item = make("a", score=1)
    mirror = Late()
    mirror.meanwhile = lambda: Item.objects.filter(score=1).update(score=2)
    before = set(Change.objects.pending().filter(mirror="titem", source="").values_list("id", flat=True))
    apply.drain(mirror, [str(item.pk)])
    left = set(Change.objects.pending().filter(mirror="titem", source="").values_list("id", flat=True))
    assert len(left) == 1
    assert not left & before


def test_only_changes_of_the_drained_rows_are_marked() -> None:
    one, two = make("a"), make("b")
    apply.drain(ITEM, [str(one.pk)])
    assert {c.key for c in Change.objects.pending().filter(mirror="titem")} == {str(two.pk)}
    assert not Change.objects.exclude(mirror="titem").filter(applied_at__isnull=False).exists()


def test_draining_a_row_applies_its_quarantined_changes() -> None:
    item = make("a")
    for _ in range(3):
        changes.failed("titem", str(item.pk), "no")
    assert Change.objects.quarantined().exists()
    apply.drain(ITEM, [str(item.pk)])
    assert not Change.objects.quarantined().exists()


def test_drain_inside_a_transaction_is_refused() -> None:
    with pytest.raises(ProgrammingError, match="transaction"), transaction.atomic():
        apply.drain(ITEM, ["1"])


def test_hash_record_follows_changes_of_related_rows(redis: Redis) -> None:
    group = Group.objects.create(name="g")
    make("a", group=group)
    drained()
    assert world.dump(redis)[f"tgroup:{group.pk}"] == {"name": "g", "items": "1"}


@pytest.mark.only_on("single")  # it counts the commands or round trips of one Redis
def test_many_changes_of_a_summary_take_one_write() -> None:
    for n in range(20):
        make(str(n))
    latest = registry.get("latest")
    keys = list(Change.objects.filter(mirror="latest").values_list("key", flat=True))
    with record() as seen:
        assert apply.drain(latest, keys).changes == 20
    assert seen.round_trips == 2
    assert sum(command.name == "RPUSH" for command in seen.commands) == 1
