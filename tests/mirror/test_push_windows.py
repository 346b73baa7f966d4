"""Pushed rows meet windows in every state, and people who change their minds meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from mirror import deliver, naming, push, relay, spread, window
from mirror.declare import CUT, MAKING, SENTINEL, WHOLE
from mirror.models import Change
from mirror.redis import relay_client
from mirror.session import Session
from mirror.slices import Outcome
from tests.support.mirror.app.models import Ignoring, Note, Reading, Writer
from tests.support.mirror.app.windows import FEED
from tests.support.mirror.pushing import (
    all_right,
    before,
    feed,
    is_right,
    is_warm,
    make_readers,
    pending,
    push_pending,
    says,
    warm,
)

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.on_sqlite]
READERS = 4


@pytest.fixture
def readers() -> list[Writer]:
    return make_readers(READERS)


def write(writer: Writer, count: int = 1) -> list[int]:
    """Notes, pushed; their ids, newest first."""
    made = [Note.objects.create(writer=writer, topic="a").pk for _ in range(count)]
    push_pending()
    return made[::-1]


def end(redis: Redis, reader: Writer) -> float | None:
    return redis.zscore(feed().key(str(reader.pk)), SENTINEL)


class TestLength:
    def test_what_no_longer_fits_is_cut_off_and_the_window_says_so(self, readers: list[Writer], redis: Redis) -> None:
        notes = write(readers[0], FEED)
        assert [end(redis, reader) for reader in readers] == [WHOLE] * READERS
        newer = write(readers[0])
        assert [says(redis, reader) for reader in readers] == [[*newer, *notes[:-1]]] * READERS
        assert [end(redis, reader) for reader in readers] == [CUT] * READERS

    def test_several_rows_at_once_may_cut_off_some_of_themselves(self, readers: list[Writer], redis: Redis) -> None:
        write(readers[0], FEED - 1)
        Note.objects.bulk_create(Note(writer=readers[0], topic="a") for _ in range(FEED + 2))
        assert push.step(pending()).outcome is Outcome.DONE
        assert all(is_right(redis, reader) and len(says(redis, reader)) == FEED for reader in readers)

    def test_below_the_floor_of_a_cut_window_nothing_is_added(self, readers: list[Writer], redis: Redis) -> None:
        """There may be others between it and the lowest one here: a hole would be shown as if nothing were missing."""
        oldest, hidden, *_ = reversed(write(readers[0], FEED + 3))
        Note.objects.filter(pk=hidden).update(hidden=True)
        Note.objects.filter(pk=says(redis, readers[1])[0]).update(hidden=True)  # and there is room
        push_pending()
        before = says(redis, readers[1])
        Note.objects.filter(pk=hidden).update(hidden=False)
        push_pending()
        assert says(redis, readers[1]) == before
        assert oldest not in before
        assert all_right(redis, readers)

    def test_into_a_window_that_holds_all_an_old_row_goes_back(self, readers: list[Writer], redis: Redis) -> None:
        notes = write(readers[0], 3)
        for hidden in (True, False):
            Note.objects.filter(pk=notes[-1]).update(hidden=hidden)
            push_pending()
        assert says(redis, readers[1]) == notes
        assert all_right(redis, readers)

    def test_a_cut_window_that_loses_all_its_rows_is_cold(self, readers: list[Writer], redis: Redis) -> None:
        """Nothing could be added to it any more: it has no floor."""
        notes = write(readers[0], FEED + 1)
        Note.objects.filter(pk__in=notes[:-1]).update(hidden=True)
        push_pending()
        assert not redis.exists(*(feed().key(str(reader.pk)) for reader in readers))

    def test_a_whole_window_that_loses_all_its_rows_is_warm(self, readers: list[Writer], redis: Redis) -> None:
        write(readers[0], 2)
        Note.objects.all().delete()
        push_pending()
        assert [end(redis, reader) for reader in readers] == [WHOLE] * READERS


class TestCold:
    def test_no_window_is_made(self, readers: list[Writer], redis: Redis) -> None:
        window.cool(feed(), [str(readers[1].pk)], redis)
        write(readers[0])
        assert not redis.exists(feed().key(str(readers[1].pk)))

    def test_a_window_that_runs_out_meanwhile_is_not_made_again(self, readers: list[Writer], redis: Redis) -> None:
        Note.objects.create(writer=readers[0], topic="a")
        push.run(pending(), at=before("deliver", lambda: redis.delete(feed().key(str(readers[1].pk)))))
        assert not redis.exists(feed().key(str(readers[1].pk)))

    def test_its_life_is_not_prolonged(self, readers: list[Writer], redis: Redis) -> None:
        redis.expire(feed().key(str(readers[1].pk)), 1000)
        write(readers[0], FEED + 1)
        assert 0 < redis.ttl(feed().key(str(readers[1].pk))) <= 1000

    def test_a_window_in_the_making_gets_it(self, readers: list[Writer], redis: Redis) -> None:
        key = feed().key(str(readers[1].pk))
        redis.delete(key)
        redis.zadd(key, {SENTINEL: MAKING})
        [note] = write(readers[0])
        assert redis.zrange(key, 0, -1, withscores=True) == [(b"0", MAKING), (str(note).encode(), note)]

    def test_a_window_that_is_made_meanwhile_gets_it(
        self, readers: list[Writer], redis: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The row is committed when the warm-up has read SQL, and delivered before it writes."""
        window.cool(feed(), [str(readers[1].pk)], redis)
        made: list[int] = []
        after_reading(monkeypatch, lambda: made.extend(write(readers[0])))
        warm(readers[1])
        assert says(redis, readers[1]) == made
        assert all_right(redis, readers)

    @pytest.mark.parametrize("name", ["tfeed", "treading", "tignoring"])
    def test_while_a_mirror_that_it_needs_is_cold_it_waits(
        self, readers: list[Writer], redis: Redis, name: str
    ) -> None:
        Note.objects.create(writer=readers[0], topic="a")
        marker: Any = redis.getdel(naming.marker(name))
        assert push.run(pending()) == (Outcome.COLD, 0, 0)
        assert push.push_keys("tfeed", "mirrortest_note") == (0, False)
        with Session(relay_client()) as session:  # has the connection, and nothing is watched on it any more
            redis.set(naming.guard("tfeed", f"row:{pending()[0].key}"), "another")
            assert session.execute([("PING",)]) == [b"PONG"]
        redis.set(naming.marker(name), marker)
        assert all_right(redis, readers)

    def test_when_a_mirror_goes_cold_meanwhile_it_stops(self, readers: list[Writer], redis: Redis) -> None:
        Note.objects.create(writer=readers[0], topic="a")
        gone = before("deliver", lambda: redis.delete(naming.marker("treading")), nth=2)
        assert push.run(pending(), 2, at=gone).outcome is Outcome.LOST
        assert pending()
        assert not redis.exists(naming.guard("tfeed", f"row:{pending()[0].key}"))  # nobody waits for who gave up

    def test_when_redis_loses_everything_meanwhile_it_stops(self, readers: list[Writer], redis: Redis) -> None:
        Note.objects.create(writer=readers[0], topic="a")
        assert push.run(pending(), at=before("deliver", redis.flushdb)).outcome is Outcome.LOST
        assert not redis.keys(feed().key("*"))


class TestMeanwhile:
    """Between what SQL said and what Redis is told somebody changes something."""

    def test_the_row_is_deleted_and_that_is_pushed(self, readers: list[Writer], redis: Redis) -> None:
        note = Note.objects.create(writer=readers[0], topic="a")
        [change] = pending()

        def delete() -> None:
            Note.objects.filter(pk=note.pk).delete()
            assert push.run(pending()[1:]).outcome is Outcome.DONE

        assert push.run([change], at=before("deliver", delete)).outcome is Outcome.LOST
        assert [says(redis, reader) for reader in readers] == [[]] * READERS
        assert all_right(redis, readers)

    def test_the_row_comes_back_and_that_is_pushed(self, readers: list[Writer], redis: Redis) -> None:
        [note] = write(readers[0])
        Note.objects.filter(pk=note).update(hidden=True)
        [change] = pending()

        def unhide() -> None:
            Note.objects.filter(pk=note).update(hidden=False)
            assert push.run(pending()[1:]).outcome is Outcome.DONE

        assert push.run([change], at=before("deliver", unhide)).outcome is Outcome.LOST
        assert [says(redis, reader) for reader in readers] == [[note]] * READERS

    @pytest.mark.parametrize("model", [Reading, Ignoring])
    @pytest.mark.parametrize("when", ["deliver", "land"])
    def test_somebody_turns_away(
        self, readers: list[Writer], redis: Redis, model: type[Reading] | type[Ignoring], when: str
    ) -> None:
        """Before the delivery it is refused; after it the recompute, which comes after the edge, takes it away."""
        note = Note.objects.create(writer=readers[0], topic="a")

        def turn_away() -> None:
            if model is Reading:
                Reading.objects.filter(reader=readers[1]).delete()
            else:
                Ignoring.objects.create(reader=readers[1], writer=readers[0])
            relay.drain_all(seconds=3600)

        push.run(pending(), at=before(when, turn_away))
        assert says(redis, readers[1]) == []
        assert says(redis, readers[2]) == [note.pk]
        assert all_right(redis, readers)

    def test_somebody_turns_away_and_redis_does_not_know_yet(self, readers: list[Writer], redis: Redis) -> None:
        note = Note.objects.create(writer=readers[0], topic="a")
        push.run(pending(), at=before("deliver", Reading.objects.filter(reader=readers[1]).delete))
        assert says(redis, readers[1]) == [note.pk]
        relay.drain_all()
        assert says(redis, readers[1]) == []

    def test_somebody_comes_and_redis_does_not_know_yet(self, readers: list[Writer], redis: Redis) -> None:
        newcomer = Writer.objects.create(name="newcomer")
        warm(newcomer)
        Reading.objects.create(reader=newcomer, writer=readers[0])
        [note] = write(readers[0])
        assert says(redis, newcomer) == []
        relay.drain_all()
        assert says(redis, newcomer) == [note]

    def test_the_writer_is_gone(self, readers: list[Writer], redis: Redis) -> None:
        """Windows are told by another way, which is faster: what is under way starts over."""
        Note.objects.create(writer=readers[0], topic="a")

        def leave() -> None:
            Writer.objects.filter(pk=readers[0].pk).update(active=False)
            while group := spread.next_group():
                spread.step(group)
            relay.drain_all(seconds=3600)

        assert push.run(pending(), at=before("deliver", leave)).outcome is Outcome.LOST
        assert [says(redis, reader) for reader in readers[1:]] == [[]] * (READERS - 1)

    @pytest.mark.parametrize("shown", [True, False])
    def test_a_window_is_recomputed_from_what_was_so_before(
        self, readers: list[Writer], redis: Redis, monkeypatch: pytest.MonkeyPatch, shown: bool
    ) -> None:
        """The push changes nothing that Redis says. The recompute would, had it not noticed."""
        [note] = write(readers[0])
        Note.objects.update(hidden=not shown)
        push_pending()
        Note.objects.update(hidden=shown)  # the recompute reads this, and nothing has been pushed

        def change_back() -> None:
            Note.objects.update(hidden=not shown)
            push_pending()

        after_reading(monkeypatch, change_back)
        Change.objects.create(mirror="tfeed", key=str(readers[1].pk))
        relay.drain_all(seconds=3600)
        assert says(redis, readers[1]) == ([note] if shown else [])


def after_reading(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Do this when a window's notes have been read from SQL for the first time."""
    left, real = [do], feed().newest

    def newest(pks: list[str], limit: int) -> object:
        found = real(pks, limit)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(feed(), "newest", newest)


def test_what_is_done_again_changes_a_window_all_the_same(readers: list[Writer], redis: Redis) -> None:
    """Or whoever is about to write from an older reading would not notice."""
    [note] = write(readers[0])
    key = feed().key(str(readers[1].pk))
    for shown in (True, False):
        if not shown:
            redis.zrem(key, str(note))
        pipe = redis.pipeline()
        pipe.watch(key)
        rows = (note, str(readers[0].pk), "1" if shown else "0")
        sets = feed().sources(str(readers[1].pk))
        assert deliver.script(redis, [key, *sets], [FEED, *rows]) == 1
        pipe.multi()
        pipe.ping()
        with pytest.raises(Exception, match="Watched variable changed"):
            pipe.execute()
        assert says(redis, readers[1]) == ([note] if shown else [])
    assert is_warm(redis, readers[1])
