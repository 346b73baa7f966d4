"""Draining: Redis says of a row what SQL says, at a stated price, whoever else is at it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
import pytest
from django.db import ProgrammingError, transaction
from redis import Redis
from redis.exceptions import ResponseError

from mirror import Member, Scored, Value, apply, outbox, plan, registry, relay
from mirror.entries import Entry
from mirror.models import Change
from mirror.naming import key
from mirror.recorder import record
from mirror.session import Conflict
from tests.mirror import world
from tests.mirror.app.mirrors import ItemMirror
from tests.mirror.app.models import Group, Item, Label, Odd

pytestmark = pytest.mark.usefixtures("committed", "no_hints")
ITEM, ODD = registry.get("titem"), registry.get("t'odd")


def drained(*items: Item) -> None:
    """Everything pending arrives."""
    relay.drain_all()
    assert not Change.objects.pending().exists()


def make(name: str, *labels: str, **values: Any) -> Item:
    item = Item.objects.create(name=name, **values)
    item.labels.set([Label.objects.get_or_create(name=label)[0] for label in labels])
    return item


def name_of(redis: Redis, name: str) -> object:
    return redis.get(key(f"titem:name:{name}"))


def test_a_known_key_is_two_round_trips_and_three_statements() -> None:
    Odd.objects.create(code="a")
    apply.drain(ODD, ["a"])  # connections are open
    Odd.objects.update(code="a")
    with record() as seen:
        assert apply.drain(ODD, ["a"]) == (1, 1)
    assert (seen.round_trips, len(seen.sql)) == (2, 3)


def test_five_hundred_keys_cost_no_more_trips_than_one() -> None:
    Odd.objects.bulk_create(Odd(code=str(n)) for n in range(500))
    apply.drain(ODD, ["none"])
    with record() as seen:
        assert apply.drain(ODD, [str(n) for n in range(500)]) == (500, 500)
    assert (seen.round_trips, len(seen.sql)) == (2, 3)


def test_a_row_that_is_new_changed_hidden_or_gone_is_so_in_redis(redis: Redis) -> None:
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
def test_whatever_step_is_the_last_the_change_stays_pending_and_doing_it_again_is_right(
    step: str, redis: Redis
) -> None:
    class Crash(BaseException):
        pass

    def crash(at: str) -> None:
        if at == step:
            raise Crash

    item = make("a", "red")
    with pytest.raises(Crash):
        apply.drain(ITEM, [str(item.pk)], step=crash)
    assert Change.objects.pending().filter(mirror="titem", source="").exists()
    drained()
    assert world.dump(redis) == world.by_orm()


@pytest.mark.parametrize("step", ["read", "write"])
def test_a_drain_that_was_overtaken_starts_over_and_never_writes_what_is_old(step: str, redis: Redis) -> None:
    item = make("a", score=1)
    tries: list[str] = []

    def overtake(at: str) -> None:
        if at == step:
            tries.append(at)
            if len(tries) == 1:
                Item.objects.update(score=2)
                relay.drain_all()

    apply.drain(ITEM, [str(item.pk)], step=overtake)
    assert len(tries) == 2
    assert world.dump(redis)["titems:score"] == {str(item.pk): 2.0}


def test_a_drain_that_is_overtaken_by_the_same_values_starts_over_too(redis: Redis) -> None:
    """The other one has marked changes; this one may hold rows that are older than it knows."""
    item = make("a")
    tries: list[str] = []

    def overtake(at: str) -> None:
        if at == "write":
            tries.append(at)
            if len(tries) == 1:
                apply.drain(ITEM, [str(item.pk)])

    apply.drain(ITEM, [str(item.pk)], step=overtake)
    assert len(tries) == 2


def test_a_drain_that_is_always_overtaken_gives_up(redis: Redis) -> None:
    item = make("a")
    with pytest.raises(Conflict, match="titem"):
        apply.drain(
            ITEM, [str(item.pk)], step=lambda at: redis.set(ITEM.key(str(item.pk)), "{}") if at == "read" else 0
        )
    assert Change.objects.pending().filter(mirror="titem").exists()


class Late(ItemMirror):
    """Somebody commits a change while the rows are being read."""

    meanwhile: Callable[[], object]

    def load(self, pks: Sequence[str]) -> Mapping[str, Item]:
        rows = super().load(pks)
        self.meanwhile()
        return rows


def test_a_change_that_is_committed_after_the_rows_were_read_stays_pending() -> None:
    item = make("a", score=1)
    mirror = Late()
    mirror.meanwhile = lambda: Item.objects.filter(score=1).update(score=2)
    before = set(Change.objects.pending().filter(mirror="titem", source="").values_list("id", flat=True))
    apply.drain(mirror, [str(item.pk)])
    left = set(Change.objects.pending().filter(mirror="titem", source="").values_list("id", flat=True))
    assert len(left) == 1
    assert not left & before


def test_only_the_changes_of_the_drained_rows_are_marked() -> None:
    one, two = make("a"), make("b")
    apply.drain(ITEM, [str(one.pk)])
    assert {c.key for c in Change.objects.pending().filter(mirror="titem")} == {str(two.pk)}
    assert not Change.objects.exclude(mirror="titem").filter(applied_at__isnull=False).exists()


def test_a_change_that_was_set_aside_is_done_when_its_row_is_drained_all_the_same() -> None:
    item = make("a")
    for _ in range(3):
        outbox.failed("titem", str(item.pk), "no")
    assert Change.objects.quarantined().exists()
    apply.drain(ITEM, [str(item.pk)])
    assert not Change.objects.quarantined().exists()


def test_a_drain_inside_a_transaction_is_refused() -> None:
    with pytest.raises(ProgrammingError, match="transaction"), transaction.atomic():
        apply.drain(ITEM, ["1"])


# --- what rows take over from one another --------------------------------------------------------


def swapped() -> tuple[Item, Item]:
    """Two items that are in Redis under their first names, and have changed them for each other's in SQL."""
    one, two = make("a"), make("b")
    drained()
    with transaction.atomic():
        Item.objects.filter(pk=one.pk).update(name="c")
        Item.objects.filter(pk=two.pk).update(name="a")
        Item.objects.filter(pk=one.pk).update(name="b")
    return one, two


def test_names_that_two_rows_swap_are_right_when_drained_together(redis: Redis) -> None:
    one, two = swapped()
    apply.drain(ITEM, [str(one.pk), str(two.pk)])
    assert (name_of(redis, "b"), name_of(redis, "a")) == (b"%d" % one.pk, b"%d" % two.pk)


@pytest.mark.parametrize("first", [0, 1])
def test_names_that_two_rows_swap_are_right_when_drained_one_after_the_other(first: int, redis: Redis) -> None:
    pair = swapped()
    apply.drain(ITEM, [str(pair[first].pk)])
    apply.drain(ITEM, [str(pair[1 - first].pk)])
    drained()
    assert world.dump(redis) == world.by_orm()


def test_a_name_that_went_to_another_row_is_not_taken_away_from_it(redis: Redis) -> None:
    one = make("a")
    drained()
    Item.objects.filter(pk=one.pk).update(name="b")
    two = make("a")
    apply.drain(ITEM, [str(two.pk)])
    apply.drain(ITEM, [str(one.pk)])
    assert name_of(redis, "a") == b"%d" % two.pk


def test_a_drain_that_read_sql_before_a_name_went_elsewhere_does_not_take_it_back(redis: Redis) -> None:
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


# --- what should not be there ---------------------------------------------------------------------


def test_strays_that_a_change_names_are_taken_away(redis: Redis) -> None:
    item = make("a", "red")
    drained()
    strays: list[Entry] = [Member(key("{tlabel}:blue"), str(item.pk)), Value(key("titem:name:x"), str(item.pk))]
    strays_of_another = Value(key("titem:name:y"), str(item.pk))
    for stray in (*strays, strays_of_another):
        redis.sadd(stray.key, stray.member) if type(stray) is Member else redis.set(*stray)
    redis.set(key("titem:name:y"), "another's by now")
    told = [plan.as_list(stray) for stray in (*strays, strays_of_another)]
    outbox.append("titem", [str(item.pk)], strays=orjson.dumps(told).decode())
    drained()
    assert name_of(redis, "y") == b"another's by now"
    redis.delete(key("titem:name:y"))
    assert world.dump(redis) == world.by_orm()


def test_a_stray_that_has_become_true_meanwhile_stays(redis: Redis) -> None:
    item = make("a", "red", score=4)
    told: list[Entry] = [Member(key("{tlabel}:red"), str(item.pk)), Scored(key("titems:score"), str(item.pk), 1.0)]
    outbox.append("titem", [str(item.pk)], strays=orjson.dumps([plan.as_list(e) for e in told]).decode())
    drained()
    assert world.dump(redis) == world.by_orm()


def test_a_change_that_names_strays_writes_every_entry_again(redis: Redis) -> None:
    item = make("a", "red")
    drained()
    redis.delete(key("{tlabel}:red"))
    outbox.append("titem", [str(item.pk)], strays="[]")
    drained()
    assert world.dump(redis) == world.by_orm()


@pytest.mark.parametrize("garbage", ["nonsense", "[]", '{"id": 1}', '{"other": "layout"}'])
def test_a_record_that_cannot_be_read_is_written_anew_with_all_its_entries(garbage: str, redis: Redis) -> None:
    item = make("a", "red")
    redis.set(ITEM.key(str(item.pk)), garbage)
    drained()
    assert world.dump(redis) == world.by_orm()


# --- errors of single commands --------------------------------------------------------------------


def test_an_entry_that_could_not_be_written_is_not_acknowledged(redis: Redis) -> None:
    """The record was written in the same transaction: it must not hide that an entry is missing."""
    item = make("a", "red", score=1)
    redis.set(key("titems:score"), "of the wrong type")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        apply.drain(ITEM, [str(item.pk)])
    relay.drain_all()
    assert Change.objects.pending().filter(mirror="titem", key=str(item.pk)).exists()
    redis.delete(key("titems:score"))
    drained()
    assert world.dump(redis) == world.by_orm()


# --- the feed ---------------------------------------------------------------------------------------


class Told(ItemMirror):
    """Items with a feed."""

    def feed(self) -> str:
        return key("titem:feed")


def told(redis: Redis) -> list[list[Any]]:
    """What the feed says since it was last asked."""
    entries: Any = redis.xrange(key("titem:feed"))
    found = [orjson.loads(fields[b"d"]) for _, fields in entries]
    redis.delete(key("titem:feed"))
    return [sorted(news) for news in found]


def test_the_feed_tells_what_came_what_went_and_what_has_another_score(redis: Redis) -> None:
    item = make("a", "red", score=1)
    pk, score, red = str(item.pk), key("titems:score"), key("{tlabel}:red")
    apply.drain(Told(), [pk])
    came = [[1, "set", red, pk], [1, "string", key("titem:name:a"), pk], [1, "zset", score, pk, 1]]
    assert told(redis) == [came]
    Item.objects.update(score=2)
    apply.drain(Told(), [pk])
    assert told(redis) == [[[1, "zset", score, pk, 2]]]
    item.delete()
    apply.drain(Told(), [pk])
    went = [[0, "set", red, pk], [0, "string", key("titem:name:a"), pk], [0, "zset", score, pk, 2]]
    assert told(redis) == [went]


def test_the_feed_is_silent_when_nothing_changed_and_in_a_full_drain(redis: Redis) -> None:
    item = make("a")
    apply.drain(Told(), [str(item.pk)], full=True)
    assert told(redis) == []
    apply.drain(Told(), [str(item.pk)])
    assert told(redis) == []


def test_the_feed_is_kept_to_its_length(redis: Redis, settings: Any) -> None:
    settings.MIRROR = {**settings.MIRROR, "FEED_LENGTH": 100}
    item = make("a")
    for score in range(400):
        redis.xadd(key("titem:feed"), {"d": str(score)})
    apply.drain(Told(), [str(item.pk)])
    assert redis.xlen(key("titem:feed")) < 300  # "about": whole nodes of a hundred go


# --- other kinds ------------------------------------------------------------------------------------


def test_a_hash_is_as_sql_says_also_when_a_row_elsewhere_changed(redis: Redis) -> None:
    group = Group.objects.create(name="g")
    make("a", group=group)
    drained()
    assert world.dump(redis)[f"tgroup:{group.pk}"] == {"name": "g", "items": "1"}


def test_many_changes_of_a_summary_are_one_write() -> None:
    for n in range(20):
        make(str(n))
    latest = registry.get("latest")
    keys = list(Change.objects.filter(mirror="latest").values_list("key", flat=True))
    with record() as seen:
        assert apply.drain(latest, keys).changes == 20
    assert seen.round_trips == 2
    assert sum(command.name == "RPUSH" for command in seen.commands) == 1
