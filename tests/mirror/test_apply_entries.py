"""Entries during a drain: removal, transfer between rows, rewriting, and the feed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
import pytest
from django.db import transaction
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import ResponseError

from mirror import Member, Scored, Value, registry
from mirror.comparison import plan
from mirror.declare.entries import Entry
from mirror.models import Change
from mirror.outbox import changes
from mirror.relay import apply, drains
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Item
from tests.support.mirror import world
from tests.support.mirror.items import drained, make

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
ITEM = registry.get("titem")


def name_of(redis: Redis, name: str) -> object:
    return redis.get(f"titem:name:{name}")


class Late(ItemMirror):
    """An item mirror during whose ``load`` another writer commits a change."""

    meanwhile: Callable[[], object]

    def load(self, pks: Sequence[str]) -> Mapping[str, Item]:
        rows = super().load(pks)
        self.meanwhile()
        return rows


# --- values that one row takes over from another ----------------------------------------------------


def swapped() -> tuple[Item, Item]:
    """Return two items whose names are in Redis and have been swapped in SQL since."""
    one, two = make("a"), make("b")
    drained()
    with transaction.atomic():
        Item.objects.filter(pk=one.pk).update(name="c")
        Item.objects.filter(pk=two.pk).update(name="a")
        Item.objects.filter(pk=one.pk).update(name="b")
    return one, two


def test_swapped_names_are_right_after_one_drain(redis: Redis) -> None:
    one, two = swapped()
    apply.drain(ITEM, [str(one.pk), str(two.pk)])
    assert (name_of(redis, "b"), name_of(redis, "a")) == (b"%d" % one.pk, b"%d" % two.pk)


@pytest.mark.parametrize("first", [0, 1])
def test_swapped_names_are_right_after_two_drains(first: int, redis: Redis) -> None:
    pair = swapped()
    apply.drain(ITEM, [str(pair[first].pk)])
    apply.drain(ITEM, [str(pair[1 - first].pk)])
    drained()
    assert world.dump(redis) == world.by_orm()


def test_name_taken_over_by_another_row_is_kept(redis: Redis) -> None:
    one = make("a")
    drained()
    Item.objects.filter(pk=one.pk).update(name="b")
    two = make("a")
    apply.drain(ITEM, [str(two.pk)])
    apply.drain(ITEM, [str(one.pk)])
    assert name_of(redis, "a") == b"%d" % two.pk


def test_drain_with_outdated_rows_does_not_take_a_name_back(redis: Redis) -> None:
    one = make("a")
    tries: list[str] = []

    def overtake(at: str) -> None:
        if at == "read" and not tries:
            tries.append(at)
            mirror.meanwhile = go_elsewhere

    def go_elsewhere() -> None:
        mirror.meanwhile = lambda: None
        Item.objects.filter(pk=one.pk).update(name="b")
        apply.drain(ITEM, [str(make("a").pk)])

    mirror = Late()
    mirror.meanwhile = lambda: None
    apply.drain(mirror, [str(one.pk)], step=overtake)
    drained()
    assert world.dump(redis) == world.by_orm()


# --- strays -----------------------------------------------------------------------------------------


def test_strays_named_by_a_change_are_removed(redis: Redis) -> None:
    item = make("a", "red")
    drained()
    strays: list[Entry] = [Member("{tlabel}:blue", str(item.pk)), Value("titem:name:x", str(item.pk))]
    strays_of_another = Value("titem:name:y", str(item.pk))
    for stray in (*strays, strays_of_another):
        redis.sadd(stray.key, stray.member) if type(stray) is Member else redis.set(*stray)
    redis.set("titem:name:y", "another's by now")
    told = [plan.as_list(stray) for stray in (*strays, strays_of_another)]
    changes.append("titem", [str(item.pk)], strays=orjson.dumps(told).decode())
    drained()
    assert name_of(redis, "y") == b"another's by now"
    redis.delete("titem:name:y")
    assert world.dump(redis) == world.by_orm()


def test_named_stray_that_has_become_valid_is_kept(redis: Redis) -> None:
    item = make("a", "red", score=4)
    told: list[Entry] = [Member("{tlabel}:red", str(item.pk)), Scored("titems:score", str(item.pk), 1.0)]
    changes.append("titem", [str(item.pk)], strays=orjson.dumps([plan.as_list(e) for e in told]).decode())
    drained()
    assert world.dump(redis) == world.by_orm()


def test_change_that_names_strays_rewrites_every_entry(redis: Redis) -> None:
    item = make("a", "red")
    drained()
    redis.delete("{tlabel}:red")
    changes.append("titem", [str(item.pk)], strays="[]")
    drained()
    assert world.dump(redis) == world.by_orm()


@pytest.mark.parametrize("garbage", ["nonsense", "[]", '{"id": 1}', '{"other": "layout"}'])
def test_unreadable_record_is_rewritten_with_all_its_entries(garbage: str, redis: Redis) -> None:
    item = make("a", "red")
    redis.set(ITEM.record_key(str(item.pk)), garbage)
    drained()
    assert world.dump(redis) == world.by_orm()


# --- errors of single commands ----------------------------------------------------------------------


def test_change_stays_pending_when_an_entry_cannot_be_written(redis: Redis) -> None:
    """The record was written in the same transaction. It must not hide the missing entry."""
    item = make("a", "red", score=1)
    redis.set("titems:score", "of the wrong type")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        apply.drain(ITEM, [str(item.pk)])
    drains.drain_all()
    assert Change.objects.pending().filter(mirror="titem", key=str(item.pk)).exists()
    redis.delete("titems:score")
    drained()
    assert world.dump(redis) == world.by_orm()


# --- the feed ---------------------------------------------------------------------------------------


class Told(ItemMirror):
    """An item mirror with a feed."""

    def feed(self) -> str:
        return "titem:feed"


def told(redis: Redis) -> list[list[Any]]:
    """Return the entries of the feed, and empty it."""
    entries: Any = redis.xrange("titem:feed")
    found = [orjson.loads(fields[b"d"]) for _, fields in entries]
    redis.delete("titem:feed")
    return [sorted(news) for news in found]


def test_feed_reports_added_removed_and_rescored_entries(redis: Redis) -> None:
    item = make("a", "red", score=1)
    pk, score, red = str(item.pk), "titems:score", "{tlabel}:red"
    apply.drain(Told(), [pk])
    came = [[1, "set", red, pk], [1, "string", "titem:name:a", pk], [1, "zset", score, pk, 1]]
    assert told(redis) == [came]
    Item.objects.update(score=2)
    apply.drain(Told(), [pk])
    assert told(redis) == [[[1, "zset", score, pk, 2]]]
    item.delete()
    apply.drain(Told(), [pk])
    went = [[0, "set", red, pk], [0, "string", "titem:name:a", pk], [0, "zset", score, pk, 2]]
    assert told(redis) == [went]


def test_feed_is_silent_without_differences_and_in_a_full_drain(redis: Redis) -> None:
    item = make("a")
    apply.drain(Told(), [str(item.pk)], full=True)
    assert told(redis) == []
    apply.drain(Told(), [str(item.pk)])
    assert told(redis) == []


def test_feed_is_trimmed_to_its_length(redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "FEED_LENGTH": 100}
    item = make("a")
    for score in range(400):
        redis.xadd("titem:feed", {"d": str(score)})
    apply.drain(Told(), [str(item.pk)])
    assert redis.xlen("titem:feed") < 300  # MAXLEN ~ removes whole nodes of a hundred entries
