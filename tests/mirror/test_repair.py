"""Repair orders changes for what differs; the relay carries them out, by its own rules."""

from typing import Any

import pytest
from redis import Redis

from mirror import relay, repair, verify
from mirror.compare import Difference
from mirror.models import Change
from mirror.naming import key
from mirror.recorder import record
from mirror.redis import relay_client
from tests.support.mirror import world
from tests.support.mirror.app.models import Follow, Group, Item, Label

pytestmark = pytest.mark.usefixtures("committed", "no_hints")


@pytest.fixture
def spoilt(redis: Redis) -> world.World:
    """Differences of every kind. Gives what Redis should hold."""
    group, label = Group.objects.create(pk=3, name="g"), Label.objects.create(name="red")
    for n in range(5):
        Item.objects.create(pk=n + 1, name=str(n), score=n, group=group).labels.add(label)
    Follow.objects.create(follower=1, followed=2)
    relay.drain_all()
    right = world.dump(redis)
    redis.delete(key("titem:1"), key("tgroup:3"))
    redis.set(key("titem:2"), '{"id": 2, "name": "0", "score": 0, "labels": ["blue"]}')
    redis.set(key("titem:77"), '{"id": 77, "name": "x", "score": 0, "labels": ["red"]}')
    redis.set(key("titem:78"), "nonsense")
    redis.srem(key("{tlabel}:red"), 3)
    redis.sadd(key("{tlabel}:red"), 79)
    redis.sadd(key("{tlabel}:ghost"), 1, 80)
    redis.zadd(key("titems:score"), {"4": 99, "81": 1})
    redis.set(key("titem:name:4"), "1")
    redis.set(key("titem:name:nobody"), "82")
    redis.hset(key("tgroup:4"), "name", "x")
    redis.srem(key("tuid:{1}:following"), 2)
    redis.sadd(key("tuid:{5}:followers"), 6)
    redis.lpush(key("titems:latest"), 99)
    return right


def test_after_a_repair_everything_is_as_it_should_be(spoilt: world.World, redis: Redis) -> None:
    differences = verify.verify(redis=relay_client())
    assert len(differences) > 12
    repair.order(differences)
    repair.carry_out(differences)
    assert world.dump(redis) == spoilt == world.by_orm()
    assert verify.verify(redis=relay_client()) == []
    assert not Change.objects.pending().exists()


def test_ordering_writes_one_change_a_row_and_nothing_in_redis(spoilt: world.World, redis: Redis) -> None:
    differences, before = verify.verify(redis=relay_client()), world.dump(redis)
    with record() as seen:
        assert repair.order(differences) == len({(d.mirror, d.pk) for d in differences})
    assert seen.commands == []
    assert world.dump(redis) == before


def test_what_was_ordered_is_done_also_when_the_process_is_gone(spoilt: world.World, redis: Redis) -> None:
    repair.order(verify.verify(redis=relay_client()))
    relay.drain_all()
    assert world.dump(redis) == spoilt


def test_what_has_become_right_since_it_was_ordered_is_not_taken_away(redis: Redis) -> None:
    redis.sadd(key("{tlabel}:red"), "7")
    redis.set(key("titem:name:a"), "7")
    repair.order(verify.verify(["titem"], redis=relay_client()))
    Item.objects.create(pk=7, name="a").labels.add(Label.objects.create(name="red"))
    relay.drain_all()
    assert world.dump(redis) == world.by_orm()


def test_a_name_that_another_row_has_taken_over_since_is_not_taken_away(redis: Redis) -> None:
    redis.set(key("titem:name:a"), "99")
    repair.order(verify.verify(["titem"], redis=relay_client()))
    item = Item.objects.create(name="a")
    relay.drain_keys("titem", [str(item.pk)])
    relay.drain_all()
    assert world.dump(redis) == world.by_orm()


def test_repairing_what_is_right_does_nothing() -> None:
    with record() as seen:
        assert (repair.order([]), repair.carry_out([])) == (0, 0)
    assert (seen.commands, seen.sql) == ([], [])


@pytest.mark.parametrize("member", ["x", "9" * 30])
def test_a_member_that_no_row_can_have_put_there_is_taken_away(member: str, redis: Redis) -> None:
    redis.sadd(key("{tlabel}:red"), member)
    redis.sadd(key("tuid:{1}:following"), member)
    differences = verify.verify(redis=relay_client())
    repair.order(differences)
    repair.carry_out(differences)
    assert world.dump(redis) == {}


def stray(count: int) -> list[Difference]:
    return [Difference("titem", str(n), "stray", "k", None, None, "x") for n in range(count)]


def test_more_removals_than_the_cap_are_refused_with_the_way_out() -> None:
    repair.check_cap(stray(3), 3)
    with pytest.raises(repair.TooManyRemovals, match=r"4 entries .* at most 3 .*--max-removals"):
        repair.check_cap(stray(4), 3)


def test_what_is_only_missing_or_stale_is_under_no_cap() -> None:
    repair.check_cap([d._replace(kind="missing") for d in stray(4)], 0)


def test_many_rows_are_ordered_in_few_statements(settings: Any) -> None:
    with record() as seen:
        repair.order(stray(300))
    assert len(seen.sql) < 30
