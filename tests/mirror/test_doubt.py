"""A reader of a strict mirror in doubt asks the outbox whether the rows it reads have pending changes."""

from typing import Any

import pytest
from django.db.utils import OperationalError
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import Place, registry
from mirror.models import Change
from mirror.outbox import changes as outbox
from mirror.read import doubt
from mirror.read.prefetch import Asked, Reading, fetch
from mirror.read.reads import read
from mirror.redis import naming
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.upkeep import heartbeat, rebuild
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Follow, Group, Item

pytestmark = pytest.mark.also_on("cluster")

MIRRORS = ("titem", "tfollow", "tgroup")
STRICT = ("titem", "tfollow")


@pytest.fixture(autouse=True)
def strict(committed: None, no_hints: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two mirrors strict. An item's record also depends on its group."""
    for name in STRICT:
        monkeypatch.setattr(type(registry.get(name)), "strict", True)
    monkeypatch.setattr(type(registry.get("titem")), "rows_behind", lambda self, item: [(Group, item["group"])])


@pytest.fixture(autouse=True)
def warm(strict: None) -> None:
    """Create items and a follow, mirror them, and write a heartbeat."""
    group = Group.objects.create(name="7", pk=7)
    Item.objects.bulk_create(Item(pk=pk, name=f"item {pk}", group=group if pk == 3 else None) for pk in (1, 2, 3))
    Follow.objects.create(follower=5, followed=6)
    rebuild.rebuild(MIRRORS)
    drains.drain_all()


def item(pk: int) -> Reading | None:
    return read(["titem"], lambda pipe: pipe.get(registry.get("titem").record_key(str(pk))))


def followed_by(person: int) -> Reading | None:
    return read(["tfollow"], lambda pipe: pipe.smembers(f"tuid:{{{person}}}:following"))


def is_followed(one: int, other: int) -> Reading | None:
    return read(["tfollow"], lambda pipe: pipe.smismember(f"tuid:{{{one}}}:following", [other]))


def stop_heartbeat(redis: Redis) -> None:
    redis.delete(naming.heartbeat())


def test_read_with_a_fresh_heartbeat_sends_no_sql(redis: Redis) -> None:
    with record() as seen:
        assert item(1) is not None
    assert (seen.round_trips, seen.sql) == (1, [])


def test_read_without_a_heartbeat_sends_one_query(redis: Redis) -> None:
    stop_heartbeat(redis)
    with record() as seen:
        assert item(1) is not None
    assert (seen.round_trips, len(seen.sql)) == (1, 1)


def test_mirror_that_is_not_strict_needs_no_heartbeat(redis: Redis) -> None:
    stop_heartbeat(redis)
    Group.objects.update(name="eight")
    with record() as seen:
        assert read(["tgroup"], lambda pipe: pipe.hgetall(registry.get("tgroup").record_key("7"))) is not None
    assert seen.sql == []


def test_only_rows_with_pending_changes_are_answered_by_sql(redis: Redis) -> None:
    Item.objects.filter(pk=1).update(name="new")
    stop_heartbeat(redis)
    assert item(1) is None
    assert item(2) is not None


def test_quarantined_changes_count_as_pending(redis: Redis) -> None:
    Item.objects.filter(pk=1).update(name="new")
    Change.objects.update(quarantined_at="2026-01-01T00:00Z")
    stop_heartbeat(redis)
    assert item(1) is None


def test_change_of_everything_counts_for_every_row(redis: Redis) -> None:
    outbox.append("titem", [outbox.WHOLE])
    stop_heartbeat(redis)
    assert item(1) is None


def test_pending_changes_of_rows_behind_a_record_count(redis: Redis) -> None:
    Change.objects.create(mirror="titem", source=Group._meta.db_table, key="7")
    stop_heartbeat(redis)
    assert item(3) is None
    assert item(2) is not None


def test_members_of_an_entry_count_as_rows(redis: Redis) -> None:
    Item.objects.filter(pk=2).update(score=9)
    stop_heartbeat(redis)
    scores = "titems:score"
    assert read(["titem"], lambda pipe: pipe.zscore(scores, "1")) is not None
    assert read(["titem"], lambda pipe: pipe.zscore(scores, "2")) is None
    assert read(["titem"], lambda pipe: pipe.zrange(scores, 0, -1, withscores=True)) is None
    assert read(["titem"], lambda pipe: pipe.get("titem:name:item 1")) is not None
    assert read(["titem"], lambda pipe: pipe.get("titem:name:item 2")) is None


def test_members_of_a_page_behind_a_place_count_as_rows(redis: Redis) -> None:
    Item.objects.filter(pk=2).update(score=9)
    stop_heartbeat(redis)
    assert ItemMirror.page("titems:score", 5, after=Place(1, 0.0)) == [Place(3, 0.0), Place(2, 9.0)]


def test_pending_edge_counts_for_the_sets_that_it_will_enter(redis: Redis) -> None:
    Follow.objects.create(follower=5, followed=7)
    stop_heartbeat(redis)
    assert followed_by(5) is None
    assert followed_by(6) is not None
    followers = "tuid:{7}:followers"
    assert read(["tfollow"], lambda pipe: pipe.sscan(followers)) is None
    assert is_followed(5, 7) is None
    assert is_followed(5, 6) is not None
    assert read(["tfollow"], lambda pipe: pipe.sscan("tuid:{5}:followers")) is not None
    for command in ("SINTER", "SUNION", "SDIFF"):  # the set with the pending edge is not the first one
        combined = (command, "tuid:{5}:followers", "tuid:{5}:following")
        assert read(["tfollow"], lambda pipe, combined=combined: pipe.execute_command(*combined)) is None  # type: ignore[misc]


def test_whole_sets_are_answered_by_sql_while_too_many_edges_are_pending(redis: Redis) -> None:
    Follow.objects.bulk_create(Follow(follower=90, followed=pk) for pk in range(outbox.MUCH + 1))
    stop_heartbeat(redis)
    assert followed_by(6) is None
    assert is_followed(5, 6) is not None


def test_only_quarantined_rows_are_answered_by_sql_with_a_heartbeat(redis: Redis) -> None:
    Item.objects.filter(pk=1).update(name="new")
    Group.objects.update(name="eight")
    Follow.objects.create(follower=5, followed=7)
    Change.objects.update(quarantined_at="2026-01-01T00:00Z")
    assert heartbeat.beat()
    with record() as seen:
        assert item(1) is None
        assert item(2) is not None
        assert read(["tgroup"], lambda pipe: pipe.hgetall(registry.get("tgroup").record_key("7"))) is None
        assert followed_by(5) is None
        assert followed_by(6) is not None
    assert seen.sql == []


def test_outbox_is_asked_when_too_many_rows_are_quarantined(redis: Redis) -> None:
    Change.objects.bulk_create(
        Change(mirror="tgroup", key=str(pk), quarantined_at="2026-01-01T00:00Z") for pk in range(heartbeat.LISTED + 1)
    )
    assert heartbeat.beat()
    group = registry.get("tgroup")
    assert read(["tgroup"], lambda pipe: pipe.hgetall(group.record_key("7"))) is None
    assert read(["tgroup"], lambda pipe: pipe.hgetall(group.record_key("7000"))) is not None
    assert item(1) is not None


def test_heartbeat_of_another_incarnation_does_not_count(redis: Redis) -> None:
    Item.objects.filter(pk=1).update(name="new")
    assert item(1) is not None
    redis.set(naming.heartbeat(), "another:server|0")
    assert item(1) is None


def test_unchanged_heartbeat_becomes_stale() -> None:
    now = [100.0]
    newest = doubt._Newest(lambda: now[0])
    assert newest.is_fresh(b"one")
    now[0] += 3600.0
    assert newest.is_fresh(b"one")
    now[0] += 0.1
    assert not newest.is_fresh(b"one")
    assert newest.is_fresh(b"two")


def test_failure_seen_by_the_process_causes_doubt_after_the_breaker_closes(redis: Redis, settings: Settings) -> None:
    Item.objects.filter(pk=1).update(name="new")
    assert item(1) is not None
    settings.MIRROR = {**settings.MIRROR, "BREAKER_SECONDS": 0.0}
    breaker.failed()
    assert not breaker.open()
    assert item(1) is None
    assert item(2) is not None


def test_redis_answers_while_sql_is_down(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(changes: Any) -> list[Any]:
        raise OperationalError("the server is away")

    Item.objects.filter(pk=1).update(name="new")
    stop_heartbeat(redis)
    monkeypatch.setattr(outbox, "pending_among", away)
    assert item(1) is not None
    monkeypatch.undo()
    assert item(1) is not None, "SQL is left alone for a while"
    doubt.database.reset()
    monkeypatch.setattr(type(registry.get("titem")), "strict", True)
    assert item(1) is None


def test_each_prefetched_read_is_judged_separately_with_one_query(redis: Redis) -> None:
    def asked(pk: int) -> Asked:
        return Asked.of(["titem"], lambda pipe: pipe.get(registry.get("titem").record_key(str(pk))))

    Item.objects.filter(pk=1).update(name="new")
    stop_heartbeat(redis)
    with record() as seen:
        ahead = fetch(asked(2), [asked(1), asked(3)])
    assert len(seen.sql) == 1
    assert ahead is not None
    assert [said is not None for said in ahead.readings] == [True, False, True]
    assert fetch(asked(1), [asked(2)]) is None
