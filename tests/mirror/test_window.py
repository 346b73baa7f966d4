"""Windows: reading, warming and draining them."""

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from mirror.models import Change
from mirror.read import reads
from mirror.redis import naming
from mirror.redis.clients import breaker, client
from mirror.redis.recorder import record
from mirror.redis.session import Conflict
from mirror.relay import apply, drains, send
from mirror.upkeep import rebuild
from mirror.warm import cold, marker
from mirror.windows import window
from mirror.windows.declare import MAKING
from mirror.windows.kinds import LazyKind
from mirror.windows.window import Slice
from tests.mirror.notes import (
    FEED,
    LIFE,
    about,
    cut,
    feed,
    held,
    ignore,
    notes,
    sliced,
    warm,
    whole,
    windows,
    writer,
)
from tests.projects.mirrortest.models import Note, Reading, Writer
from tests.support.servers import RedisServer
from tests.support.timings import Timings

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]


@pytest.fixture(autouse=True)
def mirrors_are_warm(committed: None, redis: Redis) -> None:
    rebuild.rebuild(["tfeed", "treading", "tignoring"])


# --- eager windows


def test_eager_window_holds_the_newest_rows_and_follows_every_change(redis: Redis) -> None:
    alice = writer("alice")
    first, *others = reversed(notes(alice, 4, "cats"))
    drains.drain_all()
    assert sliced(alice, name="tnotes") == Slice([*reversed(others), first], False, -1)
    assert sliced("cats", name="ttopic") == Slice(list(reversed(others)), False, -1)
    Note.objects.filter(pk=others[-1]).update(hidden=True)
    drains.drain_all()
    assert sliced(alice, name="tnotes") == Slice([others[1], others[0], first], True, -1)
    assert sliced("cats", name="ttopic") == Slice([others[1], others[0], first], False, -1)
    Writer.objects.update(active=False)
    drains.drain_all()
    assert sliced(alice, name="tnotes") == sliced("", name="tnewest") == Slice([], True, -1)
    assert not redis.keys("*notes*")


def test_slice_of_an_eager_window_starts_below_an_id(redis: Redis) -> None:
    alice = writer("alice")
    ids = notes(alice, 4)
    drains.drain_all()
    assert sliced(alice, ids[0], 2, "tnotes") == Slice(ids[1:3], False, -1)
    assert sliced(alice, ids[3], 2, "tnotes") == Slice([], False, -1)
    drop = Note.objects.filter(pk=ids.pop())
    drop.delete()
    drains.drain_all()
    assert sliced(alice, ids[1], 2, "tnotes") == Slice(ids[2:], True, -1)


@pytest.mark.only_on("single")  # it counts the commands or round trips of one Redis
def test_drain_of_an_eager_window_writes_only_the_difference(redis: Redis) -> None:
    alice = writer("alice")
    notes(alice, 4)
    drains.drain_all()
    key = windows("tnotes").record_key(str(alice.pk))
    (newest,) = notes(alice)
    with record() as seen:
        drains.drain_all()
    assert redis.zscore(key, newest) == newest
    assert redis.zcard(key) == 4
    added = [command for command in seen.commands if command.name == "ZADD" and command.args[0] != naming.history()]
    assert len(added) == 3  # one each for the writer, the topic and all notes


# --- reading lazy windows


def test_unread_window_does_not_exist() -> None:
    bob = writer("bob")
    alice = writer("alice", bob)
    notes(bob, 2)
    drains.drain_all()
    assert sliced(alice) is None
    assert held(alice) == {}


def test_warm_window_knows_whether_sql_has_more_rows() -> None:
    bob = writer("bob")
    alice = writer("alice", bob)
    ids = notes(bob, FEED.length)
    assert warm(alice)
    assert held(alice) == whole(*ids)
    assert sliced(alice) == Slice(ids, True, LIFE)
    window.cool(FEED, [str(alice.pk)], client())
    ids = notes(alice) + ids
    assert warm(alice)
    assert held(alice) == cut(*ids[:-1])
    assert sliced(alice) == Slice(ids[:-1], False, LIFE)


def test_window_without_rows_is_warm_and_empty() -> None:
    alice = writer("alice")
    assert warm(alice)
    assert sliced(alice) == Slice([], True, LIFE)


def test_slice_is_whole_only_if_it_reaches_the_end() -> None:
    alice = writer("alice")
    ids = notes(alice, 5)
    warm(alice)
    assert sliced(alice, None, 2) == Slice(ids[:2], False, LIFE)
    assert sliced(alice, ids[1], 3) == Slice(ids[2:], False, LIFE)  # the slice is full, so the end is unknown
    assert sliced(alice, ids[1], 4) == Slice(ids[2:], True, LIFE)
    assert sliced(alice, ids[-1], 4) == Slice([], True, LIFE)


def test_members_that_are_no_ids_are_skipped(redis: Redis) -> None:
    alice = writer("alice")
    (one,) = notes(alice)
    warm(alice)
    redis.zadd(feed(alice), {"nonsense": 10**9})
    redis.zadd(feed(alice), {b"\xff": 1})
    assert sliced(alice) == Slice([one], True, LIFE)


@pytest.mark.parametrize("score", [MAKING, None])
def test_window_without_sentinel_or_in_the_making_is_cold(score: float | None, redis: Redis) -> None:
    alice = writer("alice")
    redis.zadd(feed(alice), {"7": 7, **({} if score is None else {"0": score})})
    assert sliced(alice) is None


def test_window_deleted_after_its_sentinel_was_read_is_not_whole() -> None:
    assert window.answer([0.0, [], -2]) == Slice([], False, -2)
    assert window.answer([0.0, [(b"7", 7.0), (b"0", MAKING)], 60]) is None


def test_window_and_marker_are_read_in_one_round_trip() -> None:
    alice = writer("alice")
    (one,) = notes(alice)
    warm(alice)
    found = reads.read(["tfeed"], lambda pipe: window.ask(pipe, FEED, str(alice.pk), None, 20))
    assert found is not None
    assert len(found.replies) == window.ASKS
    said = window.answer(found.replies)
    assert said is not None
    assert said[:2] == ([one], True)
    cold.make_cold("tfeed", client())
    assert reads.read(["tfeed"], lambda pipe: window.ask(pipe, FEED, str(alice.pk), None, 20)) is None


def test_reading_a_window_extends_its_life(redis: Redis) -> None:
    alice = writer("alice")
    warm(alice)
    redis.expire(feed(alice), 400)
    pipe = client().pipeline(transaction=False)
    window.keep(pipe, FEED, str(alice.pk))
    pipe.execute()
    assert about(redis.ttl(feed(alice))) == LIFE
    assert pipe.command_stack == []


# --- warming


def test_warm_returns_whether_the_window_exists(redis: Redis) -> None:
    alice = writer("alice")
    assert warm(alice)
    assert warm(alice)
    assert not window.warm(FEED, "999")
    assert not window.warm(FEED, "nobody")
    assert redis.keys("*:feed") == [feed(alice).encode()]


def test_warming_a_warm_window_only_extends_its_life(redis: Redis) -> None:
    alice = writer("alice")
    warm(alice)
    redis.zadd(feed(alice), {"7": 7})
    redis.expire(feed(alice), 400)
    assert warm(alice)
    assert held(alice) == whole(7)
    assert about(redis.ttl(feed(alice))) == LIFE


def test_warming_removes_leftover_members(redis: Redis) -> None:
    alice = writer("alice")
    (one,) = notes(alice)
    redis.zadd(feed(alice), {"7": 7, str(one): 3})
    assert warm(alice)
    assert held(alice) == whole(one)


@pytest.mark.parametrize("name", ["tfeed", "treading", "tignoring"])
def test_window_is_not_made_while_a_required_mirror_is_cold(name: str, redis: Redis) -> None:
    alice = writer("alice")
    cold.make_cold(name, client())
    assert not warm(alice)
    assert not redis.exists(feed(alice))
    rebuild.rebuild([name])
    assert warm(alice)


@pytest.mark.parametrize("name", ["tfeed", "treading", "tignoring"])
def test_window_is_not_made_if_a_required_mirror_becomes_cold_before_sql_is_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, drain = writer("alice"), apply.drain

    def cold_meanwhile(*args: Any, step: Callable[[str], object], **options: Any) -> apply.Drained:
        def with_an_accident(at: str) -> None:
            if at == "read":
                cold.make_cold(name, client())
            step(at)

        return drain(*args, step=with_an_accident, **options)

    monkeypatch.setattr(apply, "drain", cold_meanwhile)
    assert not warm(alice)
    assert sliced(alice) is None


def during_the_next_read(monkeypatch: pytest.MonkeyPatch, what: Callable[[], object]) -> None:
    """Run ``what`` once, after SQL has been read for a lazy window."""
    targets = LazyKind.targets

    def read_then(self: LazyKind, pks: Any) -> Any:
        found = targets(self, pks)
        monkeypatch.undo()
        what()
        return found

    monkeypatch.setattr(LazyKind, "targets", read_then)


def push(owner: Writer, one: int, redis: Redis) -> None:
    """Imitate the least that a push does: change the window if it has a sentinel."""
    if redis.zscore(feed(owner), "0") is not None:
        redis.zadd(feed(owner), {str(one): one})


def test_row_pushed_during_a_warm_up_is_in_the_window(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = writer("alice")
    notes(alice)
    during_the_next_read(monkeypatch, lambda: push(alice, notes(alice)[0], redis))
    assert warm(alice)
    assert held(alice) == whole(*Note.objects.order_by("-pk").values_list("pk", flat=True))
    assert len(held(alice)) == 3


def test_window_deleted_during_a_warm_up_is_made_again(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = writer("alice")
    during_the_next_read(monkeypatch, lambda: window.cool(FEED, [str(alice.pk)], redis))
    assert warm(alice)
    assert held(alice) == whole()
    assert about(redis.ttl(feed(alice))) == LIFE


def test_window_deleted_before_it_is_watched_is_claimed_again(redis: Redis) -> None:
    """Without a sentinel, a push before the write would skip the window."""
    alice = writer("alice")
    taken, pushed = [False], [False]

    def accidents(at: str) -> None:
        if at == "watch" and not taken[0]:
            taken[0] = True
            window.cool(FEED, [str(alice.pk)], redis)
        elif at == "write" and not pushed[0]:
            pushed[0] = True
            push(alice, notes(alice)[0], redis)

    assert window.warm(FEED, str(alice.pk), step=accidents)
    assert held(alice) == whole(Note.objects.get().pk)


def test_change_drained_during_a_warm_up_is_in_the_window(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    bob = writer("bob")
    alice = writer("alice", bob)
    ids = notes(bob, 2)
    drains.drain_all()

    def left() -> None:
        Reading.objects.all().delete()
        drains.drain_all()

    during_the_next_read(monkeypatch, left)
    assert warm(alice)
    assert held(alice) == whole()
    assert ids


def test_killed_warm_up_leaves_a_cold_window_that_expires(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, timings: Timings
) -> None:
    timings(WARM_CLAIM_SECONDS=3600)  # longer than the test takes
    alice = writer("alice")
    (one,) = notes(alice)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apply, "drain", lambda *args, **options: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            warm(alice)
    assert held(alice) == {"0": MAKING}
    assert 0 < redis.ttl(feed(alice)) <= 3600
    drains.drain_all()
    apply.drain(FEED, [str(alice.pk)])
    assert held(alice) == {"0": MAKING, str(one): one}  # this note was pushed
    assert sliced(alice) is None
    assert warm(alice)
    assert sliced(alice) == Slice([one], True, LIFE)


@pytest.mark.only_on("single")  # its own write breaks a WATCH, and a cluster has fences
def test_warm_up_gives_up_after_constant_conflicts(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    alice, targets = writer("alice"), LazyKind.targets

    def read_then(self: LazyKind, pks: Any) -> Any:
        redis.zadd(feed(alice), {"7": redis.zscore(feed(alice), "7") or 0 + 1, "8": 8}, ch=True)
        redis.zincrby(feed(alice), 1, "7")
        return targets(self, pks)

    monkeypatch.setattr(LazyKind, "targets", read_then)
    with pytest.raises(Conflict):
        warm(alice)


# --- draining changes


def test_drain_skips_a_cold_window_and_marks_the_change(redis: Redis) -> None:
    bob = writer("bob")
    alice = writer("alice")
    notes(bob)
    Reading.objects.create(reader=alice, writer=bob)
    drains.drain_all()
    assert not redis.exists(feed(alice))
    assert not Change.objects.filter(mirror="tfeed", source="", applied_at=None).exists()


def test_drain_deletes_members_of_a_cold_window(redis: Redis) -> None:
    alice = writer("alice")
    redis.zadd(feed(alice), {"7": 7, "8": 8})
    apply.drain(FEED, [str(alice.pk)])
    assert not redis.exists(feed(alice))


def test_drain_recomputes_a_warm_window(redis: Redis) -> None:
    bob, carl = writer("bob"), writer("carl")
    alice = writer("alice", bob, carl)
    ids = notes(bob, FEED.length)
    more = notes(carl, 2)
    warm(alice)
    assert held(alice) == cut(*more, *ids[:-2])
    ignore(alice, carl)
    drains.drain_all()
    assert held(alice) == whole(*ids)


def test_window_of_a_deleted_owner_is_deleted_with_its_changes(redis: Redis) -> None:
    alice = writer("alice")
    drains.drain_all()
    assert warm(alice)
    key = feed(alice)
    alice.delete()
    drains.drain_all()
    assert not redis.exists(key)


def test_notes_of_an_inactive_writer_are_in_no_window() -> None:
    bob = writer("bob")
    alice = writer("alice", bob)
    ids = notes(bob, 2)
    drains.drain_all()
    assert warm(alice)
    assert warm(bob)
    Writer.objects.filter(pk=bob.pk).update(active=False)
    drains.drain_all()
    assert held(alice) == held(bob) == whole()
    Writer.objects.filter(pk=bob.pk).update(active=True)
    drains.drain_all()
    assert held(alice) == held(bob) == whole(*ids)


def test_drain_does_not_extend_the_life_of_a_window(redis: Redis) -> None:
    bob = writer("bob")
    alice = writer("alice", bob)
    notes(bob)
    warm(alice)
    redis.expire(feed(alice), 5000)
    Reading.objects.all().delete()
    drains.drain_all()
    assert held(alice) == whole()
    assert about(redis.ttl(feed(alice))) == 5000
    apply.drain(FEED, [str(alice.pk)], full=True)
    assert about(redis.ttl(feed(alice))) == 5000


def test_window_of_a_missing_owner_is_deleted(redis: Redis) -> None:
    alice = writer("alice")
    notes(alice)
    warm(alice)
    pk = str(alice.pk)
    alice.delete()
    apply.drain(FEED, [pk])
    assert not redis.exists(FEED.record_key(pk))


def test_row_pushed_during_a_drain_is_in_the_window(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = writer("alice")
    warm(alice)
    during_the_next_read(monkeypatch, lambda: push(alice, notes(alice)[0], redis))
    apply.drain(FEED, [str(alice.pk)])
    assert held(alice) == whole(Note.objects.get().pk)


def test_window_that_expires_during_a_drain_leaves_nothing(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = writer("alice")
    warm(alice)
    notes(alice)

    def over() -> None:
        redis.pexpire(feed(alice), 1)
        while redis.exists(feed(alice)):
            pass

    during_the_next_read(monkeypatch, over)
    apply.drain(FEED, [str(alice.pk)])
    assert not redis.exists(feed(alice))


# --- warm_soon


@pytest.fixture
def asked_once(timings: Timings) -> None:
    """Reset the throttle of requests, and set its interval to an hour."""
    timings(WARM_REQUEST_SECONDS=3600.0)
    window.requests.reset()


@pytest.fixture
def sent(asked_once: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the owners whose windows are sent to workers."""
    found: list[str] = []

    def take(mirror: str, owner: str) -> bool:
        found.append(owner)
        return True

    monkeypatch.setattr(send, "warm", take)
    return found


def test_cold_window_is_requested_once_by_all_processes(sent: list[str]) -> None:
    for _ in range(3):
        window.warm_soon(FEED, "1")
        window.warm_soon(FEED, "2")
    window.requests.reset()  # acts as another process
    window.warm_soon(FEED, "1")
    assert sent == ["1", "2"]


def test_other_processes_retry_after_the_broker_failed(
    asked_once: None, monkeypatch: pytest.MonkeyPatch, redis: Redis
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(send, "warm", lambda mirror, owner: tried.append(owner))
    for _ in range(2):
        window.requests.reset()
        window.warm_soon(FEED, "1")
        window.warm_soon(FEED, "1")
    assert tried == ["1", "1"]


def test_process_requests_a_window_again_after_the_interval(
    sent: list[str], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.warm_soon(FEED, "1")
    redis.delete(naming.lease("warm:tfeed:1"))
    window.warm_soon(FEED, "1")
    assert sent == ["1"]
    later = window.requests.clock() + 3600
    monkeypatch.setattr(window.requests, "clock", lambda: later)
    window.warm_soon(FEED, "1")
    assert sent == ["1", "1"]


def test_warm_soon_without_redis_sends_and_raises_nothing(
    sent: list[str], redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis_server.kill()
    window.warm_soon(FEED, "1")
    assert breaker.open()
    window.warm_soon(FEED, "2")
    assert sent == []


def test_task_warms_the_window() -> None:
    from mirror.tasks import warm as task

    alice = writer("alice")
    assert task("tfeed", str(alice.pk))
    assert sliced(alice) == Slice([], True, LIFE)


def test_task_without_redis_returns_false(redis_server: RedisServer) -> None:
    from mirror.tasks import warm as task

    redis_server.kill()
    assert not task("tfeed", "1")


def test_windows_have_an_ordinary_marker() -> None:
    assert marker.is_warm(client(), "tfeed")
