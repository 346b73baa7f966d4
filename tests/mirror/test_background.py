"""The background verification finds and repairs keys that were edited, deleted or added by hand, in small steps."""

from collections.abc import Callable

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import registry, tasks
from mirror.comparison.compare import Difference
from mirror.models import Change, State
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.relay import drains
from mirror.standalone.runner import Relay
from mirror.upkeep import sweeper
from mirror.verify import background
from mirror.verify.background import Position
from mirror.warm import marker
from tests.mirror.test_verify import CASES
from tests.projects.mirrortest.models import Follow, Group, Item, Label
from tests.support.mirror import world
from tests.support.mirror.command import run
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
EVERY_SECOND = 60_000.0  # keys a minute: more than a test has


@pytest.fixture
def item() -> Item:
    """Create item 7 in group 3 with a label, and a follow, in warm mirrors."""
    item = Item.objects.create(pk=7, name="a", score=2, group=Group.objects.create(pk=3, name="g"))
    item.labels.add(Label.objects.create(name="red"))
    Follow.objects.create(follower=1, followed=2)
    world.warm_own()
    return item


@pytest.fixture
def verified(settings: Settings) -> None:
    """Let every sweep take a step that reads everything."""
    settings.MIRROR = {**settings.MIRROR, "VERIFY_PER_MINUTE": EVERY_SECOND}


def position(redis: Redis) -> Position:
    return background.parse(redis.get(naming.verification()))


def complete(redis: Redis, count: int = 1000) -> tuple[int, list[Difference]]:
    """Take steps to the end of the pass. Return their number and the differences."""
    found: list[Difference] = []
    for number in range(1, 2000):
        found += background.step(relay_client(), count)
        if not position(redis).rows:
            return number, found
    raise AssertionError("the pass does not end")


def test_equal_rows_have_no_differences(item: Item, redis: Redis) -> None:
    assert complete(redis)[1] == []
    assert not Change.objects.pending().exists()


@pytest.mark.parametrize("case", CASES)
def test_every_change_by_hand_is_found_and_repaired(case: str, item: Item, redis: Redis) -> None:
    harm, (mirror, pk, kind, key) = CASES[case]
    harm(redis)
    _, found = complete(redis)
    assert (mirror, pk, kind, key) in {(d.mirror, d.pk, d.kind, d.key) for d in found}
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()
    assert complete(redis)[1] == []


def test_small_steps_find_the_same_as_one_large_step(item: Item, redis: Redis) -> None:
    Item.objects.bulk_create(Item(pk=pk, name=str(pk)) for pk in range(10, 40))
    drains.drain_all()
    redis.delete("titem:12", "titem:39")
    redis.set("titem:20", "{}")
    redis.zadd("titems:score", {"77": 1})
    redis.sadd("{tlabel}:red", *range(1000, 1600))  # too many to read at once
    steps, found = complete(redis, count=60)
    assert steps > 600 / 60
    assert {d.pk for d in found} == {"12", "39", "20", "77", *map(str, range(1000, 1600))}
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()


def test_step_reads_no_more_than_its_count(item: Item, redis: Redis) -> None:
    Item.objects.bulk_create(Item(pk=pk, name=str(pk)) for pk in range(10, 40))
    drains.drain_all()
    for total in range(4, 20, 4):
        background.step(relay_client(), 4)
        assert sum(position(redis).rows.values()) == total


def test_step_continues_where_the_last_one_stopped_in_any_process(item: Item, redis: Redis) -> None:
    Item.objects.bulk_create(Item(pk=pk, name=str(pk)) for pk in range(10, 40))
    drains.drain_all()
    background.step(relay_client(), 5)
    stored = position(redis)
    background.step(relay_client(), 5)
    assert position(redis).after is not None
    assert (position(redis).mirror, position(redis).after) != (stored.mirror, stored.after)


@pytest.mark.parametrize("stored", [b"rubbish", b"[]", b'{"mirror": "gone"}', b'{"unknown": 1}'])
def test_pass_begins_again_at_a_position_of_other_code(stored: bytes, item: Item, redis: Redis) -> None:
    redis.set(naming.verification(), stored)
    assert position(redis) == Position(registry.all_mirrors()[0].name)
    assert complete(redis)[1] == []


def test_cold_mirrors_are_left_to_their_rebuild(item: Item, redis: Redis) -> None:
    redis.delete(naming.marker("titem"), "titem:7")
    redis.srem("tuid:{1}:following", 2)
    assert {d.mirror for d in complete(redis)[1]} == {"tfollow"}


def test_rows_with_pending_changes_are_skipped(item: Item, redis: Redis) -> None:
    Item.objects.update(name="b")
    assert complete(redis)[1] == []


def test_quarantined_rows_are_skipped(item: Item, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    Item.objects.update(name="b")
    Change.objects.update(quarantined_at="2020-01-01T00:00:00Z", applied_at=None)
    redis.delete("titem:7")
    assert {d.mirror for d in complete(redis)[1]} <= {"latest"}


@pytest.mark.parametrize(("key", "mirror"), [("tgroup:3", "tgroup"), ("{tlabel}:red", "titem")])
def test_key_of_the_wrong_type_is_reported_and_stops_nothing(key: str, mirror: str, item: Item, redis: Redis) -> None:
    Item.objects.bulk_create(Item(pk=pk, name=str(pk)) for pk in range(10, 15))
    drains.drain_all()
    redis.delete(key, "titem:12")
    redis.rpush(key, "x")
    _, found = complete(redis)
    assert {d.pk for d in found} == {"12"}
    assert State.objects.get(mirror=mirror).differences
    while mirror not in position(redis).found:
        background.step(relay_client(), 1)
    last = next(s for s in run("status", "--json").said if s["mirror"] == mirror)["background_last"]
    assert f"{key}' is not a" in last


def test_status_shows_progress_and_findings(item: Item, redis: Redis) -> None:
    redis.delete("titem:7")
    while "titem" not in position(redis).found:
        background.step(relay_client(), 1)
    found = next(s for s in run("status", "--json").said if s["mirror"] == "titem")
    assert (found["background_rows"], found["background_differences"]) == (1, 1)
    assert found["background_last"] == "7: missing titem:7"
    lines = run("status").out.splitlines()
    assert any("rows compared in this pass, 1 differences" in line for line in lines)
    assert "  titem 7: missing titem:7" in lines
    complete(redis)
    found = next(s for s in run("status", "--json").said if s["mirror"] == "titem")
    assert (found["background_differences"], found["differences"]) == (0, 1)
    assert found["verified_at"]


def sweep_by_celery() -> None:
    tasks.sweep()


def sweep_by_relay() -> None:
    Relay().run_once()


@pytest.mark.parametrize("sweep", [sweep_by_celery, sweep_by_relay])
def test_every_kind_of_relay_verifies_and_repairs(
    sweep: Callable[[], None], item: Item, redis: Redis, verified: None
) -> None:
    redis.delete("titem:7")
    redis.sadd("{tlabel}:red", 99)
    sweep()
    redis.delete(naming.lease("verify"))
    sweep()
    assert world.dump(redis) == world.by_orm()


def test_steps_of_all_processes_keep_to_the_rate(item: Item, redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "VERIFY_PER_MINUTE": 12.0}
    for _ in range(3):
        sweeper.sweep()
    assert sum(position(redis).rows.values()) == 2
    redis.delete(naming.lease("verify"))
    sweeper.sweep()
    assert sum(position(redis).rows.values()) == 4


def test_rate_of_zero_turns_it_off(item: Item, redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "VERIFY_PER_MINUTE": 0}
    sweeper.sweep()
    assert not redis.exists(naming.verification())


def test_steps_wait_for_bulk_work(item: Item, redis: Redis, verified: None) -> None:
    changes.append("titem", map(str, range(changes.MUCH + 1)))
    background.step_if_due(relay_client())
    assert not redis.exists(naming.verification())
    drains.drain_all()
    background.step_if_due(relay_client())
    assert redis.exists(naming.verification())


def test_sweep_skips_the_step_while_redis_is_away(redis_server: RedisServer, verified: None) -> None:
    Item.objects.create(pk=7, name="a")
    world.warm_own()
    redis_server.kill()
    assert sweeper.sweep() == 0
    redis_server.start()
    world.rest()
    assert marker.is_warm(relay_client(), "titem")
