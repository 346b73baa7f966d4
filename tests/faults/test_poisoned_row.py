"""A row that cannot be mirrored is quarantined with its error, delays no other, and is applied once it is fixed."""

import pytest
from redis import Redis

from mirror.conf import setting
from mirror.declare.mirrors import Record
from mirror.models import Change
from mirror.relay import hints
from mirror.upkeep import rebuild, sweeper
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Item, Label
from tests.support.faults.tools import assert_exact
from tests.support.mirror import world

ROWS = 20


@pytest.fixture
def poison(transactional_db: None, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> Item:
    """Change many rows. The mirror's declaration raises an error for one of them while its name is "poison"."""
    record = ItemMirror.record

    def refuse(self: ItemMirror, row: Record) -> Record:
        if row["name"] == "poison":
            raise ValueError(f"cannot say what {row['id']} is")
        return record(self, row)

    monkeypatch.setattr(hints, "flush", lambda: None)
    monkeypatch.setattr(ItemMirror, "record", refuse)
    world.warm()
    made = Item.objects.bulk_create(Item(name=f"row {n}") for n in range(ROWS))
    row = made[ROWS // 2]
    Item.objects.filter(pk=row.pk).update(name="poison")
    return row


def changes(item: Item) -> list[Change]:
    return list(Change.objects.filter(mirror="titem", key=item.pk).order_by("id"))


def test_poisoned_row_delays_no_other_and_is_quarantined_after_its_attempts(poison: Item, redis: Redis) -> None:
    for attempt in range(1, int(setting("ATTEMPTS")) + 1):
        assert all(change.quarantined_at is None for change in changes(poison))
        sweeper.sweep()
        assert {change.attempts for change in changes(poison)} == {attempt}
        assert set(world.by_orm()) - set(world.dump(redis)) == {f"titem:{poison.pk}", "titem:name:poison"}
    for change in changes(poison):
        assert change.applied_at is None
        assert change.quarantined_at is not None
        assert change.error == f"ValueError: cannot say what {poison.pk} is"
    sweeper.sweep()
    assert {change.attempts for change in changes(poison)} == {setting("ATTEMPTS")}


def test_fixed_row_is_applied_and_leaves_quarantine(poison: Item, redis: Redis) -> None:
    for _ in range(setting("ATTEMPTS")):
        sweeper.sweep()
    Item.objects.filter(pk=poison.pk).update(name="mended")
    sweeper.sweep()
    assert not Change.objects.quarantined().exists()
    assert all(change.applied_at is not None for change in changes(poison))
    assert_exact(redis)


def test_rebuild_skips_a_poisoned_row_which_is_then_quarantined(poison: Item, redis: Redis) -> None:
    redis.flushall()
    rebuild.rebuild()
    for _ in range(setting("ATTEMPTS")):
        sweeper.sweep()
    assert set(world.by_orm()) - set(world.dump(redis)) == {f"titem:{poison.pk}", "titem:name:poison"}
    assert {change.key for change in Change.objects.quarantined()} == {str(poison.pk)}
    Item.objects.filter(pk=poison.pk).update(name="mended")
    sweeper.sweep()
    assert_exact(redis)


def test_poisoned_source_delays_no_other(poison: Item, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    Item.objects.filter(pk=poison.pk).update(name="mended")
    label = Label.objects.create(name="red")
    Item.labels.through.objects.create(item=poison, label=label)
    sweeper.sweep()
    [watch] = [watch for watch in ItemMirror.watches if watch.model is Label]
    via = watch.via

    def refuse(values: object, after: object, limit: object) -> list[str]:
        raise ValueError("cannot say what it touches")

    object.__setattr__(watch, "via", refuse)
    Label.objects.update(name="blue")
    Item.objects.filter(pk=poison.pk).update(score=7)
    for _ in range(setting("ATTEMPTS")):
        sweeper.sweep()
    object.__setattr__(watch, "via", via)
    assert world.dump(redis)["titems:score"][str(poison.pk)] == 7
    assert [(change.key, change.error) for change in Change.objects.quarantined()] == [
        (str(label.pk), "ValueError: cannot say what it touches")
    ]
    Label.objects.update(name="green")
    sweeper.sweep()
    assert_exact(redis)
