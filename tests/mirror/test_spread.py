"""A change of a source (a label, a group) becomes changes of the rows that depend on it, slice by slice."""

from collections.abc import Iterable, Sequence

import pytest
from redis import Redis

from mirror import registry
from mirror.declare.watches import Watch
from mirror.models import Change
from mirror.outbox import changes as outbox
from mirror.outbox import spread
from mirror.relay import drains
from tests.projects.mirrortest.models import Item, Label
from tests.support.killed import Killed, kill
from tests.support.mirror import world

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
SOURCE = Label._meta.db_table
Via = Sequence[str]


@pytest.fixture
def slices_of_ten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "SLICE", 10)


def link(label: Label, count: int) -> list[str]:
    """Create so many items with this label, and drain them. Return their keys."""
    items = Item.objects.bulk_create([Item(name=f"{label} {n}") for n in range(count)])
    Item.labels.through.objects.bulk_create([Item.labels.through(item=i, label=label) for i in items])
    drains.drain_all()
    return [str(item.pk) for item in items]


def rename(*labels: Label) -> None:
    for label in labels:
        Label.objects.filter(pk=label.pk).update(name=f"new {label.name}")


def keys(changes: Iterable[Change] | None = None) -> list[str]:
    """Return the keys of items with a pending change of their own, in the order of the changes."""
    found = Change.objects.pending().filter(mirror="titem", source="")
    return list(found.order_by("id").values_list("key", flat=True))


def test_slice_is_written_together_with_its_cursor(slices_of_ten: None) -> None:
    label = Label.objects.create(name="red")
    pks = link(label, 25)
    rename(label)
    for end in (10, 20):
        assert spread.step(spread.next_group()) == pks[end - 10 : end]
        assert Change.objects.pending().get(source=SOURCE).cursor == pks[end - 1]
    assert spread.step(spread.next_group()) == pks[20:]
    assert spread.next_group() == []
    assert keys() == pks


@pytest.mark.parametrize("count", [0, 10, 11])
def test_last_slice_may_be_full_or_empty(count: int, slices_of_ten: None) -> None:
    label = Label.objects.create(name="red")
    pks = link(label, count)
    rename(label)
    while group := spread.next_group():
        spread.step(group)
    assert keys() == pks


def test_spread_killed_between_slices_continues_at_its_cursor(slices_of_ten: None, redis: Redis) -> None:
    label = Label.objects.create(name="red")
    link(label, 25)
    rename(label)
    spread.step(spread.next_group())  # the process dies here
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()


def test_spread_killed_within_a_slice_writes_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    label = Label.objects.create(name="red")
    pks = link(label, 5)
    rename(label)
    with monkeypatch.context() as patch:
        patch.setattr(outbox, "append", kill)
        with pytest.raises(Killed):
            spread.step(spread.next_group())
    assert keys() == []
    assert spread.step(spread.next_group()) == pks


def test_concurrent_spreads_write_a_slice_once(slices_of_ten: None) -> None:
    label = Label.objects.create(name="red")
    pks = link(label, 15)
    rename(label)
    theirs, ours = spread.next_group(), spread.next_group()
    assert spread.step(theirs) == pks[:10]
    assert spread.step(ours) == []
    assert keys() == pks[:10]


def test_link_made_during_a_spread_has_its_own_change(slices_of_ten: None, redis: Redis) -> None:
    label = Label.objects.create(name="red")
    link(label, 15)
    first = Item.objects.create(name="was there before the cursor")
    drains.drain_all()
    rename(label)
    Item.objects.filter(pk=first.pk).update(id=-1)
    spread.step(spread.next_group())
    Item.labels.through.objects.create(item_id=-1, label=label)
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()


def test_many_sources_with_few_rows_are_one_step() -> None:
    labels = [Label.objects.create(name=str(n)) for n in range(20)]
    pks = [pk for label in labels for pk in link(label, 2)]
    rename(*labels)
    group = spread.next_group()
    assert len(group) == 20
    assert sorted(spread.step(group), key=int) == pks
    assert spread.next_group() == []


def test_many_sources_with_many_rows_are_spread_one_by_one(slices_of_ten: None, redis: Redis) -> None:
    labels = [Label.objects.create(name=str(n)) for n in range(3)]
    for label in labels:
        link(label, 8)
    rename(*labels)
    assert len(spread.step(spread.next_group())) == 8
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()


def test_partly_spread_source_is_continued_alone(slices_of_ten: None) -> None:
    one, two = Label.objects.create(name="1"), Label.objects.create(name="2")
    link(one, 15)
    link(two, 1)
    rename(one)
    spread.step(spread.next_group())
    rename(two)
    assert [change.key for change in spread.next_group()] == [str(one.pk)]


def test_source_that_is_no_longer_watched_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    label = Label.objects.create(name="red")
    link(label, 1)
    rename(label)
    mirror = registry.get("titem")
    monkeypatch.setattr(mirror, "watches", [w for w in mirror.watches if not w.via])
    spread.step(spread.next_group())
    assert not Change.objects.pending().exists()


def test_source_of_an_unregistered_mirror_is_marked(own_registry: None) -> None:
    label = Label.objects.create(name="red")
    link(label, 1)
    rename(label)
    registry.unregister("titem")
    drains.drain_all()
    assert not Change.objects.pending().exists()


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> str:
    """Rename five labels, one of which cannot be spread. Return its key."""
    labels = [Label.objects.create(name=str(n)) for n in range(5)]
    for label in labels:
        link(label, 1)
    mirror, bad = registry.get("titem"), str(labels[2].pk)
    old = next(watch for watch in mirror.watches if watch.source == SOURCE)

    def via(values: Sequence[str], after: str | None, limit: int) -> list[str]:
        if bad in values:
            raise ZeroDivisionError("of all things")
        assert old.via is not None
        return old.via(values, after, limit)

    monkeypatch.setattr(mirror, "watches", [Watch(Label, "id", via=via) if w is old else w for w in mirror.watches])
    rename(*labels)
    return bad


def test_failing_source_delays_no_other(poisoned: str, redis: Redis) -> None:
    drains.drain_all()
    assert [change.key for change in Change.objects.pending()] == [poisoned]
    assert len([key for key in world.dump(redis) if key.startswith("{tlabel}:new")]) == 4


def test_source_that_failed_three_times_is_quarantined_with_its_error(poisoned: str) -> None:
    for attempts in (1, 2, 3):
        drains.drain_all()
        assert Change.objects.get(source=SOURCE, key=poisoned, applied_at=None).attempts == attempts
    aside = Change.objects.quarantined().get()
    assert (aside.key, aside.error) == (poisoned, "ZeroDivisionError: of all things")
