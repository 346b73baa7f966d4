"""Repair orders changes for differences, and the relay applies them by its usual rules."""

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror.comparison.compare import Difference
from mirror.models import Change
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.verify import repair, runs
from tests.projects.mirrortest.models import Follow, Group, Item, Label
from tests.support.mirror import world

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]


@pytest.fixture
def spoilt(redis: Redis) -> world.World:
    """Create differences of every kind. Return the correct content of Redis."""
    group, label = Group.objects.create(pk=3, name="g"), Label.objects.create(name="red")
    for n in range(5):
        Item.objects.create(pk=n + 1, name=str(n), score=n, group=group).labels.add(label)
    Follow.objects.create(follower=1, followed=2)
    drains.drain_all()
    right = world.dump(redis)
    redis.delete("titem:1", "tgroup:3")
    redis.set("titem:2", '{"id": 2, "name": "0", "score": 0, "labels": ["blue"]}')
    redis.set("titem:77", '{"id": 77, "name": "x", "score": 0, "labels": ["red"]}')
    redis.set("titem:78", "nonsense")
    redis.srem("{tlabel}:red", 3)
    redis.sadd("{tlabel}:red", 79)
    redis.sadd("{tlabel}:ghost", 1, 80)
    redis.zadd("titems:score", {"4": 99, "81": 1})
    redis.set("titem:name:4", "1")
    redis.set("titem:name:nobody", "82")
    redis.hset("tgroup:4", "name", "x")
    redis.srem("tuid:{1}:following", 2)
    redis.sadd("tuid:{5}:followers", 6)
    redis.lpush("titems:latest", 99)
    return right


def test_repair_removes_all_differences(spoilt: world.World, redis: Redis) -> None:
    differences = runs.verify(redis=relay_client())
    assert len(differences) > 12
    repair.order(differences)
    repair.carry_out(differences)
    assert world.dump(redis) == spoilt == world.by_orm()
    assert runs.verify(redis=relay_client()) == []
    assert not Change.objects.pending().exists()


def test_order_appends_one_change_per_row_and_leaves_redis_alone(spoilt: world.World, redis: Redis) -> None:
    differences, before = runs.verify(redis=relay_client()), world.dump(redis)
    with record() as seen:
        assert repair.order(differences) == len({(d.mirror, d.pk) for d in differences})
    assert seen.commands == []
    assert world.dump(redis) == before


def test_ordered_repairs_are_applied_by_any_relay(spoilt: world.World, redis: Redis) -> None:
    repair.order(runs.verify(redis=relay_client()))
    drains.drain_all()
    assert world.dump(redis) == spoilt


def test_stray_that_became_valid_after_the_order_is_kept(redis: Redis) -> None:
    redis.sadd("{tlabel}:red", "7")
    redis.set("titem:name:a", "7")
    repair.order(runs.verify(["titem"], redis=relay_client()))
    Item.objects.create(pk=7, name="a").labels.add(Label.objects.create(name="red"))
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()


def test_name_taken_over_after_the_order_is_kept(redis: Redis) -> None:
    redis.set("titem:name:a", "99")
    repair.order(runs.verify(["titem"], redis=relay_client()))
    item = Item.objects.create(name="a")
    drains.drain_keys("titem", [str(item.pk)])
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()


def test_repair_without_differences_does_nothing() -> None:
    with record() as seen:
        assert (repair.order([]), repair.carry_out([])) == (0, 0)
    assert (seen.commands, seen.sql) == ([], [])


@pytest.mark.parametrize("member", ["x", "9" * 30])
def test_impossible_member_is_removed(member: str, redis: Redis) -> None:
    redis.sadd("{tlabel}:red", member)
    redis.sadd("tuid:{1}:following", member)
    differences = runs.verify(redis=relay_client())
    repair.order(differences)
    repair.carry_out(differences)
    assert world.dump(redis) == {}


def stray(count: int) -> list[Difference]:
    return [Difference("titem", str(n), "stray", "k", None, None, "x") for n in range(count)]


def test_removals_above_the_cap_are_refused_with_a_hint() -> None:
    repair.check_cap(stray(3), 3)
    with pytest.raises(repair.TooManyRemovals, match=r"4 entries .* at most 3 .*--max-removals"):
        repair.check_cap(stray(4), 3)


def test_missing_and_stale_entries_do_not_count_for_the_cap() -> None:
    repair.check_cap([d._replace(kind="missing") for d in stray(4)], 0)


def test_many_rows_are_ordered_in_few_statements(settings: Settings) -> None:
    with record() as seen:
        repair.order(stray(300))
    assert len(seen.sql) < 30
