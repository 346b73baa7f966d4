"""Another incarnation of Redis gets the changes that it lost, or a complete rebuild.

These tests only simulate the other incarnation; ``tests/faults`` restarts real servers from older files.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from redis import Redis

from mirror import registry
from mirror.models import Change, Identity
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import client, incarnation, relay_client
from mirror.relay import drains
from mirror.upkeep import rebuild, replay, sweeper
from mirror.verify import runs
from mirror.warm import marker, rewind
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Follow, Item, Label
from tests.support.killed import Killed, kill
from tests.support.mirror import world

pytestmark = [
    pytest.mark.usefixtures("committed", "no_hints"),
    pytest.mark.only_on("single"),
]  # after a loss a cluster is rebuilt instead of replayed
OLD = "the:former"


def clock(seconds_ago: float) -> None:
    """Write a clock that is so many seconds old into Redis."""
    client().mset(dict.fromkeys((naming.clock(), naming.bare_clock()), repr(changes.clock() - seconds_ago)))


def another_answers() -> None:
    """Attribute all earlier work to another incarnation."""
    now = incarnation(client(), ask=True)
    Identity.objects.update(incarnation=OLD)
    Change.objects.filter(incarnation=now).update(incarnation=OLD)
    for mirror in registry.all_mirrors():
        if found := client().get(naming.marker(mirror.name)):
            client().set(naming.marker(mirror.name), found.decode().replace(now, OLD))


def all_warm() -> bool:
    return all(marker.is_warm(client(), mirror.name) for mirror in registry.all_mirrors())


@pytest.fixture
def lost(redis: Redis) -> list[Item]:
    """Create items in warm mirrors, then act as if another incarnation without them answered. Return the items."""
    world.warm()
    items = [Item.objects.create(name=str(n)) for n in range(3)]
    label = Label.objects.create(name="red")
    items[0].labels.add(label)
    drains.drain_all()
    Label.objects.update(name="blue")
    drains.drain_all()
    another_answers()
    markers = set(redis.keys("mirror:*"))
    for name in redis.keys("*"):
        if name not in markers:
            redis.delete(name)
    return items


def test_first_redis_is_rebuilt_and_not_replayed() -> None:
    assert replay.check(relay_client()) == incarnation(client())
    assert Identity.objects.get().replay_from is None


def test_same_redis_is_not_replayed(redis: Redis) -> None:
    world.warm()
    replay.check(relay_client())
    assert all_warm()
    assert not Change.objects.pending().exists()


def test_changes_applied_since_the_clock_are_applied_again(lost: list[Item], redis: Redis) -> None:
    clock(seconds_ago=300)
    assert replay.check(relay_client()) == incarnation(client())
    assert world.dump(redis) == world.by_orm()
    assert all_warm()


def test_redis_that_returns_after_another_one_is_rebuilt(lost: list[Item], redis: Redis) -> None:
    """A balancer led to another server for a while. The former one kept its markers and its incarnation."""
    now = incarnation(client(), ask=True)
    for mirror in registry.all_mirrors():
        if found := client().get(naming.marker(mirror.name)):
            client().set(naming.marker(mirror.name), found.decode().replace(OLD, now))
    assert all_warm()
    clock(seconds_ago=300)
    replay.check(relay_client())
    assert not marker.is_warm(client(), "titem")
    rebuild.rebuild()
    assert all_warm()
    assert world.dump(redis) == world.by_orm()


def test_changes_applied_before_the_clock_are_left_alone(lost: list[Item]) -> None:
    Change.objects.update(applied_at=datetime.now(UTC) - timedelta(seconds=500))
    clock(seconds_ago=300)
    replay.check(relay_client())
    assert {change.incarnation for change in Change.objects.exclude(incarnation="")} == {OLD}


def test_mirror_that_lost_more_than_the_clock_tells_is_rebuilt(lost: list[Item], redis: Redis) -> None:
    """The changes before the clock are in SQL's past only, as after a loss that no clock shows."""
    Change.objects.update(applied_at=datetime.now(UTC) - timedelta(seconds=500))
    clock(seconds_ago=300)
    replay.check(relay_client())
    assert not marker.is_warm(client(), "titem")
    assert marker.is_warm(client(), "tfollow")
    world.rest()
    assert all_warm()
    assert world.dump(redis) == world.by_orm()


def test_loss_of_rows_without_a_recent_change_is_noticed(lost: list[Item]) -> None:
    Change.objects.all()._raw_delete(Change.objects.db)
    clock(seconds_ago=300)
    replay.check(relay_client())
    assert not marker.is_warm(client(), "titem")


@pytest.mark.parametrize("kept", ["the bare clock only", "an older clock", "no bare clock"])
def test_clock_without_its_transaction_is_not_believed(kept: str, lost: list[Item], redis: Redis) -> None:
    clock(seconds_ago=300)
    if kept == "the bare clock only":
        redis.delete(naming.clock())
    elif kept == "an older clock":
        redis.set(naming.clock(), repr(changes.clock() - 301))
    else:
        redis.delete(naming.bare_clock())
    replay.check(relay_client())
    assert not any(client().exists(naming.marker(mirror.name)) for mirror in registry.all_mirrors())


def test_replay_starts_a_little_before_the_clock(lost: list[Item]) -> None:
    """The clock is written at intervals, and the time of a mark is read a little after its EXEC."""
    clock(seconds_ago=300)
    said: Any = client().get(naming.clock())
    Change.objects.update(applied_at=datetime.fromtimestamp(float(said), UTC) - timedelta(seconds=2))
    replay.check(relay_client())
    assert OLD not in {change.incarnation for change in Change.objects.all()}


@pytest.mark.parametrize("remembered", ["nothing", "too little", "the future"])
def test_redis_with_a_missing_old_or_future_clock_is_rebuilt(remembered: str, lost: list[Item]) -> None:
    if remembered != "nothing":
        clock(seconds_ago=700 if remembered == "too little" else -3600)
    replay.check(relay_client())
    assert not any(client().exists(naming.marker(mirror.name)) for mirror in registry.all_mirrors())
    assert Identity.objects.get().replay_from is None


def test_killed_replay_continues(lost: list[Item], redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    clock(seconds_ago=300)
    with monkeypatch.context() as patch:
        patch.setattr(drains, "drain_all", kill)
        with pytest.raises(Killed):
            replay.check(relay_client())
    assert not all_warm()
    replay.check(relay_client())
    assert world.dump(redis) == world.by_orm()
    assert all_warm()


def test_change_marked_late_by_a_drain_of_the_former_redis_is_applied_again(
    lost: list[Item], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drain was paused between its EXEC, which is lost, and its mark."""
    clock(seconds_ago=300)
    drain_all, late = drains.drain_all, [str(lost[0].pk)]

    def marked_meanwhile(**options: object) -> int:
        while late:
            ids = [change.id for change in changes.pending_of("titem", [late.pop()])[str(lost[0].pk)]]
            changes.mark_applied(ids, OLD)
        return drain_all(**options)  # type: ignore[arg-type]

    monkeypatch.setattr(drains, "drain_all", marked_meanwhile)
    replay.check(relay_client())
    assert world.dump(redis) == world.by_orm()


def test_endless_replay_does_not_become_warm_or_write_the_clock(
    lost: list[Item], monkeypatch: pytest.MonkeyPatch, redis: Redis
) -> None:
    clock(seconds_ago=300)
    before = redis.get(naming.clock())
    monkeypatch.setattr(changes, "unapply_since", lambda moment, incarnation: 1)
    sweeper.sweep()
    assert not all_warm()
    assert redis.get(naming.clock()) == before


def test_changes_without_an_incarnation_are_replayed_once(lost: list[Item]) -> None:
    changes.append("gone", ["1"])
    drains.drain_all()
    assert Change.objects.filter(incarnation="", applied_at__isnull=False).count() > 1
    moment = datetime.now(UTC) - timedelta(hours=1)
    assert changes.unapply_since(moment, incarnation(client())) > 0
    drains.drain_all()
    assert changes.unapply_since(moment, incarnation(client())) == 0


def test_change_of_everything_is_replayed(lost: list[Item], redis: Redis) -> None:
    """The older Redis has the marker that this change had removed."""
    found = redis.get(naming.marker("tfollow"))
    changes.append("tfollow", [changes.WHOLE])
    drains.drain_all()
    assert found is not None
    redis.set(naming.marker("tfollow"), found)
    Change.objects.filter(key=changes.WHOLE).update(incarnation=OLD)
    clock(seconds_ago=300)
    replay.check(relay_client())
    assert not marker.is_warm(client(), "tfollow")
    assert marker.is_warm(client(), "titem")


def test_mirror_that_was_cold_before_stays_cold(lost: list[Item], redis: Redis) -> None:
    redis.delete(naming.marker("tgroup"))
    clock(seconds_ago=300)
    replay.check(relay_client())
    assert not marker.is_warm(client(), "tgroup")
    assert marker.is_warm(client(), "titem")


def test_clock_is_written_only_into_the_checked_incarnation(redis: Redis) -> None:
    """Another incarnation may be an older file, and the new clock would prevent its replay."""
    replay.write_clock(relay_client(), "another:one")
    assert not redis.exists(naming.clock())
    before = changes.clock()
    replay.write_clock(relay_client(), incarnation(client(), ask=True))
    written: Any = redis.get(naming.clock())
    assert before <= float(written) <= changes.clock()
    assert redis.get(naming.bare_clock()) == written


def test_clock_of_sql_agrees_with_marks(postgres: bool) -> None:
    before = datetime.now(UTC).timestamp()
    now = changes.clock()
    assert before - 1 <= now <= datetime.now(UTC).timestamp() + 1
    Follow.objects.create(follower=1, followed=2)
    drains.drain_all()
    applied = Change.objects.get().applied_at
    assert applied is not None
    assert now - 1 <= applied.timestamp() <= changes.clock() + 1


@pytest.fixture
def moved_back(redis: Redis, settings: Any) -> Item:
    """Change an item while the site has another prefix, and return to the former one. Return the item."""
    world.warm()
    item = Item.objects.create(name="old")
    drains.drain_all()
    replay.check(relay_client())
    former = settings.MIRROR
    settings.MIRROR = {**former, "PREFIX": "another:"}
    rewind.forget()
    sweeper.run_sweep(relay_client())
    Item.objects.filter(pk=item.pk).update(name="new")
    drains.drain_all()
    settings.MIRROR = former
    rewind.forget()  # as a new process
    return item


def test_readers_of_a_new_process_believe_no_keys_left_by_a_former_prefix(moved_back: Item) -> None:
    found = ItemMirror.get(moved_back.pk)
    assert found
    assert found["name"] == "new"
    assert not marker.is_warm(client(), "titem")


def test_mirrors_are_rebuilt_after_the_prefix_has_changed_back(moved_back: Item) -> None:
    assert replay.check(relay_client())
    assert not any(marker.is_warm(client(), mirror.name) for mirror in registry.all_mirrors())
    rebuild.rebuild()
    assert runs.verify() == []
    assert replay.check(relay_client())
    assert all_warm()


def test_prefix_of_a_site_that_did_not_note_it_is_noted_without_a_rebuild(redis: Redis) -> None:
    world.warm()
    Identity.objects.update(prefix=None)
    rewind.forget()
    assert replay.check(relay_client())
    assert Identity.objects.get().prefix is not None
    assert all_warm()
