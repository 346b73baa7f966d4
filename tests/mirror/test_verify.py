"""Verification finds every difference between SQL and Redis in both directions, and reports no transient ones."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import registry
from mirror.comparison import compare, scan
from mirror.comparison.compare import Difference
from mirror.models import Change, State
from mirror.outbox import changes
from mirror.redis.clients import relay_client
from mirror.relay import drains
from mirror.verify import runs
from tests.projects.mirrortest.models import Follow, Group, Item, Label
from tests.support.mirror import world

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]


@pytest.fixture
def item(redis: Redis) -> Item:
    """Create item 7 in group 3, with a label and a follow, and mirror them all."""
    group, label = Group.objects.create(pk=3, name="g"), Label.objects.create(name="red")
    item = Item.objects.create(pk=7, name="a", score=2, group=group)
    item.labels.add(label)
    Follow.objects.create(follower=1, followed=2)
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()
    return item


def found(*names: str, **options: Any) -> list[Difference]:
    return runs.verify(names, redis=relay_client(), **options)


def told(differences: list[Difference]) -> list[tuple[str, str, str, str]]:
    """Return the differences without their values and without the namespace of their keys."""
    return sorted((d.mirror, d.pk, d.kind, d.key.removeprefix("")) for d in differences)


def test_equal_rows_have_no_differences(item: Item) -> None:
    assert found() == []


def test_empty_databases_have_no_differences() -> None:
    assert found() == []


CASES: dict[str, tuple[Callable[[Redis], object], tuple[str, str, str, str]]] = {
    "a record that is missing": (lambda r: r.delete("titem:7"), ("titem", "7", "missing", "titem:7")),
    "a record that is stale": (lambda r: r.set("titem:7", "{}"), ("titem", "7", "stale", "titem:7")),
    "a record that is stray": (lambda r: r.set("titem:8", "{}"), ("titem", "8", "stray", "titem:8")),
    "a hash that is missing": (lambda r: r.delete("tgroup:3"), ("tgroup", "3", "missing", "tgroup:3")),
    "a field that is stale": (lambda r: r.hset("tgroup:3", "name", "x"), ("tgroup", "3", "stale", "tgroup:3")),
    "a field too many": (lambda r: r.hset("tgroup:3", "x", "y"), ("tgroup", "3", "stale", "tgroup:3")),
    "a hash that is stray": (lambda r: r.hset("tgroup:4", "a", "b"), ("tgroup", "4", "stray", "tgroup:4")),
    "a member that is missing": (lambda r: r.srem("{tlabel}:red", 7), ("titem", "7", "missing", "{tlabel}:red")),
    "a member that is stray": (lambda r: r.sadd("{tlabel}:red", 9), ("titem", "9", "stray", "{tlabel}:red")),
    "a set that is stray": (lambda r: r.sadd("{tlabel}:x", 7), ("titem", "7", "stray", "{tlabel}:x")),
    "a score that is missing": (lambda r: r.zrem("titems:score", 7), ("titem", "7", "missing", "titems:score")),
    "a score that is stale": (lambda r: r.zadd("titems:score", {"7": 5}), ("titem", "7", "stale", "titems:score")),
    "a score that is stray": (lambda r: r.zadd("titems:score", {"9": 5}), ("titem", "9", "stray", "titems:score")),
    "a name that is missing": (lambda r: r.delete("titem:name:a"), ("titem", "7", "missing", "titem:name:a")),
    "a name that is stale": (lambda r: r.set("titem:name:a", "9"), ("titem", "7", "stale", "titem:name:a")),
    "a name that is stray": (lambda r: r.set("titem:name:b", "7"), ("titem", "7", "stray", "titem:name:b")),
    "an edge that is missing": (
        lambda r: r.srem("tuid:{1}:following", 2),
        ("tfollow", "1:2", "missing", "tuid:{1}:following"),
    ),
    "an edge that is stray": (
        lambda r: r.sadd("tuid:{9}:followers", 8),
        ("tfollow", "8:9", "stray", "tuid:{9}:followers"),
    ),
    "a summary that is missing": (lambda r: r.delete("titems:latest"), ("latest", "", "missing", "titems:latest")),
    "a summary that is stale": (lambda r: r.lpush("titems:latest", 9), ("latest", "", "stale", "titems:latest")),
}


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_difference_is_found(case: str, item: Item, redis: Redis) -> None:
    harm, difference = CASES[case]
    harm(redis)
    stale_name = [("titem", "9", "stray", "titem:name:a")] if case == "a name that is stale" else []
    assert [d for d in told(found()) if d not in stale_name] == [difference]


def test_stray_summary_is_found(redis: Redis) -> None:
    redis.rpush("titems:latest", "9")
    assert told(found()) == [("latest", "", "stray", "titems:latest")]


def test_many_differences_in_many_chunks_are_found(redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 3}
    label = Label.objects.create(name="red")
    for n in range(1, 36):
        Item.objects.create(pk=n, name=str(n)).labels.add(label)
    drains.drain_all()
    redis.srem("{tlabel}:red", *range(1, 36, 2))
    redis.sadd("{tlabel}:red", *range(100, 300))
    differences = found()
    assert sum(d.kind == "missing" for d in differences) == 18
    assert sum(d.kind == "stray" for d in differences) == 200


def test_difference_shows_both_values(item: Item, redis: Redis) -> None:
    redis.zadd("titems:score", {"7": 5})
    (difference,) = found()
    assert str(difference) == f"titem 7: stale '{'titems:score'} 7': SQL has 2.0, Redis has 5.0"


@pytest.mark.parametrize("mirror", ["titem", "latest"])
def test_rows_with_pending_changes_are_skipped(mirror: str, item: Item, redis: Redis) -> None:
    Item.objects.update(name="b", score=9)
    Item.objects.create(pk=8, name="c")
    assert found(mirror) == []
    drains.drain_all()
    assert found(mirror) == []


def test_rows_of_a_source_with_a_pending_change_are_skipped(item: Item, redis: Redis) -> None:
    other = Item.objects.create(pk=8, name="c")
    drains.drain_all()
    Label.objects.update(name="blue")  # no change of item 7 exists before this one is drained
    redis.delete(f"titem:{other.pk}")
    assert told(found("titem")) == [("titem", "8", "missing", "titem:8")]


def test_quarantined_row_is_listed_and_not_compared(item: Item) -> None:
    Item.objects.update(name="b")
    Change.objects.update(quarantined_at="2001-01-01T00:00:00Z")
    assert {(kind, pk) for _, pk, kind, *_ in runs.verify(["titem"])} == {("quarantined", "7")}


def test_difference_that_disappears_is_not_reported(item: Item, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    redis.srem("{tlabel}:red", 7)
    look, looks = compare.look, list[int]()

    def arrives_meanwhile(*args: Any) -> list[Difference]:
        seen = look(*args)
        looks.append(len(seen))
        redis.sadd("{tlabel}:red", 7)
        return seen

    monkeypatch.setattr(compare, "look", arrives_meanwhile)
    assert found() == []
    assert looks == [1, 0]


def test_row_that_changes_during_the_comparison_is_not_reported(
    item: Item, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the reads of SQL and of Redis, a change is made, drained and marked."""
    redis.set("titem:7", "{}")
    ask = changes.pending_of

    def drained_meanwhile(*args: Any) -> Any:
        if args[0] == "titem" and not Item.objects.filter(score=99).exists():
            Item.objects.update(score=99)
            Change.objects.update(strays=changes.INCOMPLETE)
            monkeypatch.setattr(changes, "pending_of", ask)
            drains.drain_all()
        return ask(*args)

    monkeypatch.setattr(changes, "pending_of", drained_meanwhile)
    assert found("titem") == []


def test_only_the_named_mirrors_are_verified(item: Item, redis: Redis) -> None:
    redis.delete("titem:7", "tgroup:3")
    assert {d.mirror for d in found("tgroup")} == {"tgroup"}


def test_sample_verifies_so_many_rows_and_no_strays(item: Item, redis: Redis) -> None:
    for n in range(20, 40):
        Item.objects.create(pk=n, name=str(n))
    drains.drain_all()
    redis.set("titem:999", "{}")
    for n in range(20, 40):
        redis.delete(f"titem:{n}")
    redis.delete("titem:7")
    assert len({d.pk for d in found("titem", sample=5)}) == 5
    assert len({d.pk for d in found("titem", sample=500)}) == 21


@pytest.mark.parametrize("name", ["titems:score", "titem:name:a", "{tlabel}:red"])
def test_key_of_the_wrong_type_is_named(name: str, item: Item, redis: Redis) -> None:
    redis.delete(name)
    redis.rpush(name, "x")
    with pytest.raises(scan.WrongType, match=name.replace("{", r"\{")):
        found()


@pytest.mark.parametrize("name", ["tgroup:3", "titems:latest"])
def test_record_of_the_wrong_type_is_named(name: str, item: Item, redis: Redis) -> None:
    redis.delete(name)
    redis.sadd(name, "x")
    with pytest.raises(scan.WrongType, match=name):
        found()


def test_keys_outside_of_the_columns_range_are_handled(item: Item, redis: Redis) -> None:
    redis.set("titem:99999999999999999999999", "{}")
    redis.set("titem:07", "{}")
    redis.set("titem:-1", "{}")
    assert told(found()) == [("titem", "-1", "stray", "titem:-1")]


def test_members_that_are_no_text_are_named_with_their_key(item: Item, redis: Redis) -> None:
    redis.sadd("{tlabel}:red", b"\xff\xfe")
    with pytest.raises(scan.WrongType, match=r"red.*no text"):
        found()


def test_keys_that_are_no_text_are_ignored(item: Item, redis: Redis) -> None:
    redis.set(b"titem:name:" + b"\xff", "7")
    assert found() == []


@pytest.mark.parametrize("member", ["x", "9" * 30, "", "7:7", "07"])
def test_impossible_members_are_strays(member: str, item: Item, redis: Redis) -> None:
    redis.sadd("{tlabel}:red", member)
    redis.sadd("tuid:{1}:following", member)
    assert {(d.kind, d.pk) for d in found()} == {("stray", member), ("stray", f"1:{member}")}


def test_result_is_saved_for_the_admin(item: Item, redis: Redis) -> None:
    redis.set("titem:8", "{}")
    found("titem")
    state = State.objects.get(mirror="titem")
    assert state.differences == 1
    assert state.verified_at is not None
    found("titem", sample=1)
    state.refresh_from_db()
    assert state.differences == 1


def test_progress_counts_every_row_once(item: Item, redis: Redis) -> None:
    rows: dict[str, int] = {}

    def progress(mirror: str, count: int) -> None:
        rows[mirror] = rows.get(mirror, 0) + count

    found(progress=progress)
    assert (rows["titem"], rows["tgroup"], rows["tfollow"], rows["latest"]) == (1, 1, 1, 1)
    assert rows.keys() == {mirror.name for mirror in registry.all_mirrors()}
