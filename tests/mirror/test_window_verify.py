"""Verification finds every difference in eager and lazy windows, and reports no transient ones."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from redis import Redis

from mirror.comparison import scan
from mirror.comparison.explained import Explained
from mirror.models import Change
from mirror.outbox import changes
from mirror.redis.clients import relay_client
from mirror.relay import drains
from mirror.verify import explain, repair, runs
from mirror.windows.declare import MAKING
from mirror.windows.kinds import LazyKind
from tests.mirror.notes import (
    FEED,
    about,
    cut,
    feed,
    forget_pushes,
    held,
    notes,
    warm,
    whole,
    windows,
    writer,
)
from tests.projects.mirrortest.models import Note, Reading, Writer
from tests.support import warm_mirrors
from tests.support.mirror.command import run
from tests.support.mirror.outbox import run as execute

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
OURS = ("tfeed", "tnotes", "ttopic", "tnewest")


@pytest.fixture
def alice(committed: None, redis: Redis) -> Writer:
    """Create writer 5 with the notes 11, 12 and 13 on topic "t", which are all notes, and warm her feed."""
    warm_mirrors.rebuild([*OURS, "treading", "tignoring"])
    for table in ("mirrortest_note", "mirrortest_writer") if connection.vendor == "postgresql" else ():
        # the sequences do not follow explicit ids
        execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 50)")
    alice = Writer.objects.create(pk=5, name="alice")
    Note.objects.bulk_create(Note(pk=pk, writer=alice, topic="t") for pk in (11, 12, 13))
    drains.drain_all()
    forget_pushes()
    assert warm(alice)
    assert held(alice) == whole(13, 12, 11)
    assert found() == []
    return alice


def found(*names: str, **options: Any) -> list[tuple[str, str, str, str]]:
    """Return mirror, owner, kind and member of each difference."""
    seen = runs.verify(names or OURS, redis=relay_client(), **options)
    return sorted((d.mirror, d.pk, d.kind, str(d.entry[1]) if d.entry else "") for d in seen)


def put_right() -> None:
    """Repair all differences as ``mirror repair`` does."""
    seen = runs.verify(OURS, redis=relay_client())
    repair.order(seen)
    repair.carry_out(seen, redis=relay_client())


EAGER: dict[str, tuple[Callable[[Redis], object], tuple[str, str, str, str]]] = {
    "one is missing": (lambda r: r.zrem(of("tnotes", "5"), 12), ("tnotes", "5", "missing", "12")),
    "one is stray": (lambda r: r.zadd(of("tnotes", "5"), {"9": 9}), ("tnotes", "5", "stray", "9")),
    "one is no id": (lambda r: r.zadd(of("tnotes", "5"), {"x": 9}), ("tnotes", "5", "stray", "x")),
    "one has another score": (lambda r: r.zadd(of("tnotes", "5"), {"11": 9}), ("tnotes", "5", "stale", "11")),
    "one of many owners": (lambda r: r.zrem(of("ttopic", "t"), 13), ("ttopic", "t", "missing", "13")),
    "one of all": (lambda r: r.zrem(of("tnewest", ""), 13), ("tnewest", "", "missing", "13")),
    "a window of nobody": (lambda r: r.zadd(of("tnotes", "999"), {"9": 9}), ("tnotes", "999", "stray", "9")),
    "a window of what is no owner": (lambda r: r.zadd(of("tnotes", "x"), {"9": 9}), ("tnotes", "x", "stray", "9")),
    "a window of no topic": (lambda r: r.zadd(of("ttopic", "u"), {"9": 9}), ("ttopic", "u", "stray", "9")),
}
LAZY: dict[str, tuple[Callable[[Redis], object], tuple[str, str, str, str]]] = {
    "one is missing above the floor": (lambda r: r.zrem(mine(), 12), ("tfeed", "5", "missing", "12")),
    "one is missing of all": (lambda r: r.zrem(mine(), 11), ("tfeed", "5", "missing", "11")),
    "one is stray": (lambda r: r.zadd(mine(), {"99": 99}), ("tfeed", "5", "stray", "99")),
    "one is stray below": (lambda r: r.zadd(mine(), {"9": 9}), ("tfeed", "5", "stray", "9")),
    "one is no id": (lambda r: r.zadd(mine(), {"x": 9}), ("tfeed", "5", "stray", "x")),
    "one is written in another way": (lambda r: r.zadd(mine(), {"012": 12}), ("tfeed", "5", "stray", "012")),
    "one has another score": (lambda r: r.zadd(mine(), {"11": 9}), ("tfeed", "5", "stale", "11")),
    "there is no sentinel": (lambda r: r.zrem(mine(), "0"), ("tfeed", "5", "stray", "")),
    "the sentinel says nonsense": (lambda r: r.zadd(mine(), {"0": 7}), ("tfeed", "5", "stray", "")),
    "a window of nobody": (lambda r: r.zadd(of("tfeed", "999"), {"0": 0}), ("tfeed", "999", "stray", "")),
    "a window of what is no owner": (lambda r: r.zadd(of("tfeed", "x"), {"0": 0}), ("tfeed", "x", "stray", "")),
}


def of(name: str, owner: str) -> str:
    return windows(name).record_key(owner)


def mine() -> str:
    return of("tfeed", "5")


@pytest.mark.parametrize("what", [*EAGER, *LAZY])
def test_every_kind_of_difference_is_found_and_repaired(what: str, alice: Writer, redis: Redis) -> None:
    do, difference = (EAGER | LAZY)[what]
    do(redis)
    assert found() == [difference]
    redis.expire(mine(), 5000)
    put_right()
    assert found() == []
    assert about(redis.ttl(mine())) in (5000, 0)


def test_several_differences_in_one_window_are_repaired_at_once(alice: Writer, redis: Redis) -> None:
    redis.zadd(mine(), {"9": 9, "11": 3, "x": 1})
    redis.zrem(mine(), 12)
    assert len(found()) == 4
    put_right()
    assert held(alice) == whole(13, 12, 11)


def test_commands_print_and_repair_differences(alice: Writer, redis: Redis) -> None:
    redis.zrem(mine(), 12)
    assert (
        run("verify", "tfeed").out.splitlines()[0] == f"tfeed 5: missing {mine()} 12: SQL has 12.0, Redis has nothing"
    )
    redis.zrem(mine(), "0")
    assert (
        run("verify", "tfeed").out.splitlines()[0] == f"tfeed 5: stray {mine()}: SQL has nothing, Redis has 2 members"
    )
    assert run("repair", "tfeed").code == 0
    assert not redis.exists(mine())


# --- the floor


@pytest.fixture
def long(alice: Writer) -> list[int]:
    """Create more notes than a feed holds, so that alice's feed is cut. Return all ids, newest first."""
    ids = [*notes(alice, FEED.length), 13, 12, 11]
    drains.drain_all()
    assert held(alice) == cut(*ids[: FEED.length])
    assert found() == []
    return ids


def test_cut_window_is_compared_from_its_floor_upwards(alice: Writer, long: list[int], redis: Redis) -> None:
    redis.zrem(mine(), *long[2 : FEED.length])
    assert found() == []
    redis.zrem(mine(), long[0])
    assert found() == [("tfeed", "5", "missing", str(long[0]))]


def test_empty_cut_window_has_no_differences(alice: Writer, long: list[int], redis: Redis) -> None:
    redis.zrem(mine(), *long)
    assert found() == []


def test_cut_window_may_hold_all_rows(alice: Writer, redis: Redis) -> None:
    redis.zadd(mine(), {"0": -1})
    assert found() == []


def test_window_wrongly_marked_as_whole_is_found(alice: Writer, long: list[int], redis: Redis) -> None:
    redis.zadd(mine(), {"0": 0})
    assert found() == [("tfeed", "5", "stale", "0")]
    put_right()
    assert held(alice) == cut(*long[: FEED.length])


def test_window_above_its_length_is_found(alice: Writer, long: list[int], redis: Redis) -> None:
    redis.zadd(mine(), {"13": 13})
    assert found() == [("tfeed", "5", "stray", "13")]
    put_right()
    assert held(alice) == cut(*long[: FEED.length])


def test_gap_above_a_low_floor_is_found_and_repaired(alice: Writer, long: list[int], redis: Redis) -> None:
    redis.zrem(mine(), long[0])
    redis.zadd(mine(), {"1": 1})
    assert found() == [("tfeed", "5", "missing", str(long[0]))]
    put_right()
    assert held(alice) == cut(*long[: FEED.length])


# --- transient differences


def test_rows_with_pending_pushes_are_skipped_and_others_compared(alice: Writer, redis: Redis) -> None:
    (new,) = notes(alice)
    assert new > 13
    Note.objects.filter(pk=12).update(hidden=True)
    pushes = Change.objects.filter(mirror="tfeed", applied_at=None).exclude(source="")
    assert pushes.count() == 2
    assert found("tfeed") == []
    redis.zrem(mine(), 11)
    assert found("tfeed") == [("tfeed", "5", "missing", "11")]
    pushes.filter(key__startswith=f"{new}:").delete()
    assert found("tfeed") == [("tfeed", "5", "missing", member) for member in sorted(["11", str(new)])]
    pushes.delete()
    assert ("tfeed", "5", "stray", "12") in found("tfeed")


def test_quarantined_push_is_listed_and_its_windows_are_skipped(alice: Writer) -> None:
    notes(alice)
    Change.objects.filter(mirror="tfeed").update(quarantined_at="2026-01-01T00:00:00Z")
    assert {kind for _, _, kind, _ in found("tfeed")} == {"quarantined"}


@pytest.mark.parametrize("delivered", [False, True])
def test_rows_cut_off_by_a_pending_push_are_skipped(alice: Writer, delivered: bool, redis: Redis) -> None:
    ids = [*notes(alice, FEED.length - 3), 13, 12, 11]
    drains.drain_all()
    assert held(alice) == whole(*ids)
    (new,) = notes(alice)
    if delivered:
        redis.zadd(mine(), {str(new): new, "0": -1})
        redis.zrem(mine(), 11)
    assert found("tfeed") == []
    forget_pushes()
    assert bool(found("tfeed")) is not delivered


@pytest.mark.parametrize("mirror", ["tfeed", "treading", "tignoring"])
def test_window_with_a_pending_change_of_a_required_mirror_is_skipped(mirror: str, alice: Writer, redis: Redis) -> None:
    redis.zrem(mine(), 12)
    changes.append(mirror, ["5" if mirror == "tfeed" else "5:6"])
    assert found("tfeed") == []
    Change.objects.filter(applied_at=None).delete()
    changes.append(mirror, ["6" if mirror == "tfeed" else "6:5"])
    assert found("tfeed") == [("tfeed", "5", "missing", "12")]


def test_window_in_the_making_is_skipped(alice: Writer, redis: Redis) -> None:
    redis.zadd(mine(), {"0": MAKING, "99": 99})
    redis.zrem(mine(), 12)
    assert found() == []


def test_difference_that_disappears_is_not_reported(
    alice: Writer, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis.zrem(mine(), 12)
    monkeypatch.setattr("mirror.comparison.compare.time.sleep", lambda seconds: redis.zadd(mine(), {"12": 12}))
    assert found() == []


def test_difference_that_changes_is_not_reported(alice: Writer, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    redis.zrem(mine(), 12)

    def another(seconds: float) -> None:
        redis.zadd(mine(), {"12": 12})
        redis.zrem(mine(), 13)

    monkeypatch.setattr("mirror.comparison.compare.time.sleep", another)
    assert found() == []


def test_window_that_changes_in_sql_meanwhile_is_skipped(
    alice: Writer, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis.zrem(mine(), 12)
    targets = LazyKind.targets

    def then_more(self: LazyKind, pks: Any) -> Any:
        read = targets(self, pks)
        notes(alice)
        Change.objects.all().delete()
        return read

    monkeypatch.setattr(LazyKind, "targets", then_more)
    assert found("tfeed") == []


def test_windows_without_owners_do_not_hide_other_differences(alice: Writer, redis: Redis) -> None:
    for owner in range(100, 140):
        redis.zadd(of("tfeed", str(owner)), {"0": 0})
    redis.zrem(mine(), 12)
    assert len(found("tfeed")) == 41


# --- samples, types, explain


def test_sample_compares_so_many_windows(alice: Writer, redis: Redis) -> None:
    bob = writer("bob")
    assert warm(bob)
    assert found("tfeed", sample=1) == []
    redis.zadd(feed(bob), {"7": 7})
    redis.zadd(feed(alice), {"7": 7})
    assert len(found("tfeed", sample=1)) == 1
    assert len(found("tfeed", sample=10)) == 2


@pytest.mark.parametrize("name", ["tfeed", "tnotes"])
def test_window_of_the_wrong_type_is_named(name: str, alice: Writer, redis: Redis) -> None:
    redis.delete(of(name, "5"))
    redis.set(of(name, "5"), "x")
    with pytest.raises(scan.WrongType, match="5"):
        found(name)


@pytest.mark.parametrize("name", ["tfeed", "tnotes"])
def test_member_that_is_no_text_is_named(name: str, alice: Writer, redis: Redis) -> None:
    redis.zadd(of(name, "5"), {b"\xff": 1})
    with pytest.raises(scan.WrongType, match="no text"):
        found(name)


def explained(name: str, owner: str = "5") -> Explained:
    (one,) = explain.explain(name, owner)
    return one


@pytest.mark.parametrize("name", ["tfeed", "tnotes"])
def test_window_is_explained_member_by_member(name: str, alice: Writer, redis: Redis) -> None:
    said = explained(name)
    assert said.key == of(name, "5")
    assert not said.differs
    assert {member for _, member, _, _ in said.entries} == {"11", "12", "13"} | ({"0"} if name == "tfeed" else set())
    redis.zrem(said.key, 12)
    assert explained(name).differs


def test_cold_window_is_explained_as_empty(alice: Writer, redis: Redis) -> None:
    redis.delete(mine())
    assert (explained("tfeed").entries, explained("tfeed").differs) == ([], False)


def test_cut_window_is_explained_from_its_floor(alice: Writer, long: list[int], redis: Redis) -> None:
    redis.zrem(mine(), *long[3:])
    assert not explained("tfeed").differs


def test_model_is_explained_by_the_windows_of_its_rows(alice: Writer) -> None:
    assert {one.mirror for one in explain.explain("mirrortest.Writer", "5")} == {"tfeed", "tnotes"}
    assert explained("tnewest", "").key == of("tnewest", "")
    with pytest.raises(explain.NothingToExplain):
        explain.explain("mirrortest.Note", "11")


def test_new_reading_is_a_difference_only_until_it_is_drained(alice: Writer) -> None:
    bob = writer("bob")
    notes(bob)
    drains.drain_all()
    Reading.objects.create(reader=alice, writer=bob)
    assert found("tfeed") == []
    assert explained("tfeed").differs
    drains.drain_all()
    assert not explained("tfeed").differs
