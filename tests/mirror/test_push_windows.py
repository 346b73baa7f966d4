"""Pushes into windows in every state, with concurrent changes of rows and edges."""

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from mirror.models import Change
from mirror.outbox import spread
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.session import Session
from mirror.relay import drains
from mirror.windows import deliver, push, window
from mirror.windows.declare import CUT, MAKING, SENTINEL, WHOLE
from mirror.windows.slices import Outcome
from tests.mirror.notes import FEED, all_right, feed, is_right, make_readers, pending, push_pending, says, warm
from tests.projects.mirrortest.models import Ignoring, Note, Reading, Writer
from tests.support.killed import before

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
READERS = 4


@pytest.fixture
def readers() -> list[Writer]:
    return make_readers(READERS)


def write(writer: Writer, count: int = 1) -> list[int]:
    """Create notes and push them. Return their ids, newest first."""
    made = [Note.objects.create(writer=writer, topic="a").pk for _ in range(count)]
    push_pending()
    return made[::-1]


def end(redis: Redis, reader: Writer) -> float | None:
    return redis.zscore(feed(reader), SENTINEL)


class TestLength:
    def test_window_beyond_its_length_loses_its_oldest_row_and_is_cut(
        self, readers: list[Writer], redis: Redis
    ) -> None:
        notes = write(readers[0], FEED.length)
        assert [end(redis, reader) for reader in readers] == [WHOLE] * READERS
        newer = write(readers[0])
        assert [says(redis, reader) for reader in readers] == [[*newer, *notes[:-1]]] * READERS
        assert [end(redis, reader) for reader in readers] == [CUT] * READERS

    def test_rows_pushed_together_may_exceed_the_length(self, readers: list[Writer], redis: Redis) -> None:
        write(readers[0], FEED.length - 1)
        Note.objects.bulk_create(Note(writer=readers[0], topic="a") for _ in range(FEED.length + 2))
        assert push.push_slice(pending()).outcome is Outcome.DONE
        assert all(is_right(reader) and len(says(redis, reader)) == FEED.length for reader in readers)

    def test_row_below_the_floor_of_a_cut_window_is_not_added(self, readers: list[Writer], redis: Redis) -> None:
        """SQL may have rows between it and the floor. The window would hide this gap."""
        oldest, hidden, *_ = reversed(write(readers[0], FEED.length + 3))
        Note.objects.filter(pk=hidden).update(hidden=True)
        Note.objects.filter(pk=says(redis, readers[1])[0]).update(hidden=True)  # now the window has room
        push_pending()
        before = says(redis, readers[1])
        Note.objects.filter(pk=hidden).update(hidden=False)
        push_pending()
        assert says(redis, readers[1]) == before
        assert oldest not in before
        assert all_right(redis, readers)

    def test_old_row_returns_to_a_whole_window(self, readers: list[Writer], redis: Redis) -> None:
        notes = write(readers[0], 3)
        for hidden in (True, False):
            Note.objects.filter(pk=notes[-1]).update(hidden=hidden)
            push_pending()
        assert says(redis, readers[1]) == notes
        assert all_right(redis, readers)

    def test_cut_window_without_rows_becomes_cold(self, readers: list[Writer], redis: Redis) -> None:
        """It has no floor, so no row could be added to it."""
        notes = write(readers[0], FEED.length + 1)
        Note.objects.filter(pk__in=notes[:-1]).update(hidden=True)
        push_pending()
        assert not redis.exists(*(feed(reader) for reader in readers))

    def test_whole_window_without_rows_stays_warm(self, readers: list[Writer], redis: Redis) -> None:
        write(readers[0], 2)
        Note.objects.all().delete()
        push_pending()
        assert [end(redis, reader) for reader in readers] == [WHOLE] * READERS


class TestCold:
    def test_push_creates_no_window(self, readers: list[Writer], redis: Redis) -> None:
        window.cool(FEED, [str(readers[1].pk)], redis)
        write(readers[0])
        assert not redis.exists(feed(readers[1]))

    def test_window_that_expires_during_the_push_is_not_recreated(self, readers: list[Writer], redis: Redis) -> None:
        Note.objects.create(writer=readers[0], topic="a")
        push.push_slices(pending(), at=before("deliver", lambda: redis.delete(feed(readers[1]))))
        assert not redis.exists(feed(readers[1]))

    def test_push_does_not_extend_the_life_of_a_window(self, readers: list[Writer], redis: Redis) -> None:
        redis.expire(feed(readers[1]), 1000)
        write(readers[0], FEED.length + 1)
        assert 0 < redis.ttl(feed(readers[1])) <= 1000

    def test_row_is_pushed_into_a_window_in_the_making(self, readers: list[Writer], redis: Redis) -> None:
        key = feed(readers[1])
        redis.delete(key)
        redis.zadd(key, {SENTINEL: MAKING})
        [note] = write(readers[0])
        assert redis.zrange(key, 0, -1, withscores=True) == [(b"0", MAKING), (str(note).encode(), note)]

    def test_row_is_pushed_into_a_window_that_is_warmed_meanwhile(
        self, readers: list[Writer], redis: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The row is committed after the warm-up read SQL, and delivered before the warm-up writes."""
        window.cool(FEED, [str(readers[1].pk)], redis)
        made: list[int] = []
        after_reading(monkeypatch, lambda: made.extend(write(readers[0])))
        assert warm(readers[1])
        assert says(redis, readers[1]) == made
        assert all_right(redis, readers)

    @pytest.mark.parametrize("name", ["tfeed", "treading", "tignoring"])
    def test_push_waits_while_a_required_mirror_is_cold(self, readers: list[Writer], redis: Redis, name: str) -> None:
        Note.objects.create(writer=readers[0], topic="a")
        marker: Any = redis.getdel(naming.marker(name))
        assert push.push_slices(pending()) == (Outcome.COLD, 0, 0)
        assert push.push_keys("tfeed", "mirrortest_note") == (0, False)
        with Session(relay_client()) as session:  # the session's connection holds no watches any more
            redis.set(naming.guard("tfeed", f"row:{pending()[0].key}"), "another")
            assert session.execute([("PING",)]) == [b"PONG"]
        redis.set(naming.marker(name), marker)
        assert all_right(redis, readers)

    def test_push_stops_when_a_required_mirror_becomes_cold(self, readers: list[Writer], redis: Redis) -> None:
        Note.objects.create(writer=readers[0], topic="a")
        gone = before("deliver", lambda: redis.delete(naming.marker("treading")), nth=2)
        assert push.push_slices(pending(), 2, at=gone).outcome is Outcome.LOST
        assert pending()
        # a push that gave up releases its guard
        assert not redis.exists(naming.guard("tfeed", f"row:{pending()[0].key}"))

    def test_push_stops_when_redis_is_emptied(self, readers: list[Writer], redis: Redis) -> None:
        Note.objects.create(writer=readers[0], topic="a")
        assert push.push_slices(pending(), at=before("deliver", redis.flushdb)).outcome is Outcome.LOST
        assert not redis.keys(FEED.record_key("*"))


class TestMeanwhile:
    """Data changes between the push's reading of SQL and its delivery."""

    def test_row_deleted_and_pushed_meanwhile_stays_deleted(self, readers: list[Writer], redis: Redis) -> None:
        note = Note.objects.create(writer=readers[0], topic="a")
        [change] = pending()

        def delete() -> None:
            Note.objects.filter(pk=note.pk).delete()
            assert push.push_slices(pending()[1:]).outcome is Outcome.DONE

        assert push.push_slices([change], at=before("deliver", delete)).outcome is Outcome.LOST
        assert [says(redis, reader) for reader in readers] == [[]] * READERS
        assert all_right(redis, readers)

    def test_row_restored_and_pushed_meanwhile_stays(self, readers: list[Writer], redis: Redis) -> None:
        [note] = write(readers[0])
        Note.objects.filter(pk=note).update(hidden=True)
        [change] = pending()

        def unhide() -> None:
            Note.objects.filter(pk=note).update(hidden=False)
            assert push.push_slices(pending()[1:]).outcome is Outcome.DONE

        assert push.push_slices([change], at=before("deliver", unhide)).outcome is Outcome.LOST
        assert [says(redis, reader) for reader in readers] == [[note]] * READERS

    @pytest.mark.parametrize("model", [Reading, Ignoring])
    @pytest.mark.parametrize("when", ["deliver", "finish"])
    def test_reader_who_leaves_the_writer_does_not_keep_the_note(
        self, readers: list[Writer], redis: Redis, model: type[Reading] | type[Ignoring], when: str
    ) -> None:
        """A later delivery is refused. After an earlier one, the recompute that follows the edge removes the note."""
        note = Note.objects.create(writer=readers[0], topic="a")

        def turn_away() -> None:
            if model is Reading:
                Reading.objects.filter(reader=readers[1]).delete()
            else:
                Ignoring.objects.create(reader=readers[1], writer=readers[0])
            drains.drain_all(seconds=3600)

        push.push_slices(pending(), at=before(when, turn_away))
        assert says(redis, readers[1]) == []
        assert says(redis, readers[2]) == [note.pk]
        assert all_right(redis, readers)

    def test_note_is_removed_after_redis_learns_that_the_reader_left(self, readers: list[Writer], redis: Redis) -> None:
        note = Note.objects.create(writer=readers[0], topic="a")
        push.push_slices(pending(), at=before("deliver", Reading.objects.filter(reader=readers[1]).delete))
        assert says(redis, readers[1]) == [note.pk]
        drains.drain_all()
        assert says(redis, readers[1]) == []

    def test_note_is_added_after_redis_learns_of_a_new_reader(self, readers: list[Writer], redis: Redis) -> None:
        newcomer = Writer.objects.create(name="newcomer")
        assert warm(newcomer)
        Reading.objects.create(reader=newcomer, writer=readers[0])
        [note] = write(readers[0])
        assert says(redis, newcomer) == []
        drains.drain_all()
        assert says(redis, newcomer) == [note]

    def test_deactivated_writer_disappears_from_all_windows(self, readers: list[Writer], redis: Redis) -> None:
        """The windows change through another, faster way, so the push in progress starts over."""
        Note.objects.create(writer=readers[0], topic="a")

        def leave() -> None:
            Writer.objects.filter(pk=readers[0].pk).update(active=False)
            while group := spread.next_group():
                spread.step(group)
            drains.drain_all(seconds=3600)

        assert push.push_slices(pending(), at=before("deliver", leave)).outcome is Outcome.LOST
        assert [says(redis, reader) for reader in readers[1:]] == [[]] * (READERS - 1)

    @pytest.mark.parametrize("shown", [True, False])
    def test_recompute_with_outdated_rows_is_repeated(
        self, readers: list[Writer], redis: Redis, monkeypatch: pytest.MonkeyPatch, shown: bool
    ) -> None:
        """The push changes no member. Without a notice of it, the recompute would restore the outdated state."""
        [note] = write(readers[0])
        Note.objects.update(hidden=not shown)
        push_pending()
        Note.objects.update(hidden=shown)  # the recompute reads this state, which has not been pushed

        def change_back() -> None:
            Note.objects.update(hidden=not shown)
            push_pending()

        after_reading(monkeypatch, change_back)
        Change.objects.create(mirror="tfeed", key=str(readers[1].pk))
        drains.drain_all(seconds=3600)
        assert says(redis, readers[1]) == ([note] if shown else [])


def after_reading(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Run ``do`` once, after a window's notes have been read from SQL."""
    left, real = [do], FEED.newest

    def newest(pks: list[str], limit: int) -> object:
        found = real(pks, limit)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(FEED, "newest", newest)


@pytest.mark.only_on("single")  # its own write breaks a WATCH, and a cluster has fences
def test_repeated_delivery_still_breaks_watches(readers: list[Writer], redis: Redis) -> None:
    """Otherwise a writer with older rows would not notice the delivery."""
    [note] = write(readers[0])
    key = feed(readers[1])
    for shown in (True, False):
        if not shown:
            redis.zrem(key, str(note))
        pipe = redis.pipeline()
        pipe.watch(key)
        rows = (note, str(readers[0].pk), "", "1" if shown else "0")
        sets = FEED.sources(str(readers[1].pk))
        assert deliver.script(redis, [key, *sets], [FEED.length, *rows]) == 1
        pipe.multi()
        pipe.ping()
        with pytest.raises(Exception, match="Watched variable changed"):
            pipe.execute()
        assert says(redis, readers[1]) == ([note] if shown else [])
    assert end(redis, readers[1]) in (WHOLE, CUT)
