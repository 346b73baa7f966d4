"""Rows are pushed into warm windows slice by slice. After any interruption the windows equal SQL in the end."""

import pytest
from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.relay import drains
from mirror.windows import deliver, push
from mirror.windows.declare import Reached, WindowMirror
from mirror.windows.slices import Outcome
from tests.mirror.notes import FEED, all_right, feed, make_readers, pending, push_pending, says
from tests.projects.mirrortest.models import Note, Reading, Writer
from tests.support.killed import Killed, before
from tests.support.timings import Timings

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
READERS = 13
STEPS = ("guard", "read", "deliver", "finish", "note")


@pytest.fixture
def readers() -> list[Writer]:
    return make_readers(READERS)


def write(writer: Writer) -> Note:
    return Note.objects.create(writer=writer, topic="a")


def test_new_row_is_pushed_into_every_window_that_it_concerns(readers: list[Writer], redis: Redis) -> None:
    note = write(readers[0])
    assert push.push_slices(pending()) == (Outcome.DONE, 1, READERS)
    assert [says(redis, reader) for reader in readers] == [[note.pk]] * READERS
    assert not pending()


def test_deleted_row_is_removed_from_every_window(readers: list[Writer], redis: Redis) -> None:
    kept, gone = write(readers[0]), write(readers[0])
    push_pending()
    gone.delete()
    push_pending()
    assert [says(redis, reader) for reader in readers] == [[kept.pk]] * READERS


def test_progress_is_saved_after_each_slice(readers: list[Writer], redis: Redis) -> None:
    note = write(readers[0])
    for end in (5, 10):
        assert push.push_slice(pending(), 5).outcome is Outcome.MORE
        assert pending()[0].cursor == str(readers[end].pk)
        assert [reader for reader in readers if says(redis, reader) == [note.pk]] == readers[: end + 1]
    assert push.push_slice(pending(), 5) == (Outcome.DONE, 1, 2)
    assert all_right(redis, readers)


@pytest.mark.parametrize("limit", [2, READERS - 1, READERS, READERS + 1])
def test_last_slice_may_be_full_or_empty(readers: list[Writer], redis: Redis, limit: int) -> None:
    write(readers[0])
    assert push.push_slices(pending(), limit) == (Outcome.DONE, 1, READERS)
    assert all_right(redis, readers)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_killed_push_continues_at_its_cursor(readers: list[Writer], redis: Redis, step: str, nth: int) -> None:
    write(readers[0])
    write(readers[0]).delete()
    push.push_slice(pending(), 3)
    if nth > 1 and step in ("guard", "finish"):
        nth = 1  # these steps run once per push
    with pytest.raises(Killed):
        push.push_slices(pending()[:1], 3, at=before(step, nth=nth))
    assert all_right(redis, readers)


def test_repeated_push_is_harmless(readers: list[Writer], redis: Redis) -> None:
    note = write(readers[0])
    push_pending()
    Change.objects.filter(source="mirrortest_note").update(applied_at=None)
    assert push.push_slices(pending()).outcome is Outcome.DONE
    assert [says(redis, reader) for reader in readers] == [[note.pk]] * READERS


def test_progress_made_in_another_incarnation_is_discarded(readers: list[Writer], redis: Redis) -> None:
    write(readers[0])
    push.push_slice(pending(), 5)
    for reader in readers:  # the state of an older file
        redis.zremrangebyrank(feed(reader), 1, -1)
    Change.objects.filter(cursor__isnull=False).update(incarnation="another")
    push_pending()
    assert all_right(redis, readers)


def test_many_rows_with_few_windows_share_a_slice(readers: list[Writer], redis: Redis) -> None:
    notes = Note.objects.bulk_create(Note(writer=writer, topic="a") for writer in readers[1:])
    assert push.push_slice(pending()) == (Outcome.DONE, len(notes), len(notes))
    assert all_right(redis, readers)


def test_rows_share_a_slice_while_their_windows_fit(readers: list[Writer], redis: Redis) -> None:
    Note.objects.bulk_create(Note(writer=readers[0], topic="a") for _ in range(5))
    assert push.push_slice(pending(), 3 * READERS).applied == 2
    assert push.push_slice(pending()[:1], 3).outcome is Outcome.MORE
    assert push.push_slice(pending(), 3).outcome is Outcome.MORE  # a push that has begun is continued alone
    assert [change.cursor is None for change in pending()] == [False, True, True]
    assert all_right(redis, readers)


def test_script_is_loaded_again_after_script_flush(readers: list[Writer], redis: Redis) -> None:
    write(readers[0])
    redis.script_flush()
    assert push.push_slices(pending()).outcome is Outcome.DONE
    assert all_right(redis, readers)


def test_batches_are_bounded_and_have_one_command_per_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliver, "BATCH", 6)
    one = [Reached(str(owner), 1, "5", True) for owner in range(20)]
    two = [Reached(str(owner), 2, "6", True) for owner in range(2)]
    found = list(deliver.make_batches(FEED, [*one, *two]))
    assert [batch.windows for batch in found] == [6, 6, 6, 2]
    calls = [command for batch in found for command in batch.commands]
    assert [command[2:6] for command in calls] == [
        (3, FEED.record_key(str(owner)), *FEED.sources(str(owner))) for owner in range(20)
    ]
    assert [command[7:] for command in calls] == [(1, "5", "", "1", 2, "6", "", "1")] * 2 + [(1, "5", "", "1")] * 18


class TestWhatFails:
    def test_failing_row_delays_no_other(self, readers: list[Writer], redis: Redis, poisoned: Note) -> None:
        others = [write(readers[0]) for _ in range(3)]
        drains.drain_all()
        assert [change.key for change in pending()] == [f"{poisoned.pk}:{readers[0].pk}"]
        assert says(redis, readers[1]) == [note.pk for note in reversed(others)]

    def test_failing_row_is_quarantined_with_its_error(self, poisoned: Note) -> None:
        for attempts in (1, 2, 3):
            drains.drain_all()
            assert Change.objects.get(source="mirrortest_note", applied_at=None).attempts == attempts
        assert Change.objects.quarantined().get().error == "ZeroDivisionError: of all things"

    def test_window_of_the_wrong_type_delays_no_other(self, readers: list[Writer], redis: Redis) -> None:
        key = feed(readers[3])
        redis.set(key, "something else")
        note = write(readers[0])
        assert push.push_slices(pending()).outcome is Outcome.DONE
        others = [reader for reader in readers if reader != readers[3]]
        assert [says(redis, reader) for reader in others] == [[note.pk]] * len(others)
        assert redis.get(key) == b"something else"


@pytest.fixture
def poisoned(readers: list[Writer], monkeypatch: pytest.MonkeyPatch) -> Note:
    """Create a note for which ``reach`` fails."""
    note, old = write(readers[0]), type(FEED).reach

    def reach(self: WindowMirror, rows: list[str], after: str | None, limit: int) -> list[Reached]:
        if f"{note.pk}:{readers[0].pk}" in rows:
            raise ZeroDivisionError("of all things")
        return old(self, rows, after, limit)

    monkeypatch.setattr(type(FEED), "reach", reach)
    return note


class TestOthersAtTheSameRow:
    def test_row_guarded_by_another_push_is_left_alone(self, readers: list[Writer], timings: Timings) -> None:
        timings(PUSH_GUARD_SECONDS=7200, PUSH_BUSY_SECONDS=3600)  # longer than the test takes
        write(readers[0])
        with pytest.raises(Killed):
            push.push_slices(pending(), at=before("deliver"))
        assert push.push_keys("tfeed", "mirrortest_note") == (0, False)
        assert pending()

    def test_row_is_taken_over_after_its_guard_is_no_longer_fresh(self, readers: list[Writer], redis: Redis) -> None:
        write(readers[0])
        with pytest.raises(Killed):
            push.push_slices(pending(), at=before("deliver"))
        [guard] = redis.keys(naming.guard("tfeed", "row:*"))
        redis.pexpire(guard, 1000 * (deliver.PUSH_GUARD_SECONDS - deliver.PUSH_BUSY_SECONDS))
        assert push.push_keys("tfeed", "mirrortest_note") == (1, False)

    def test_push_that_started_last_wins(self, readers: list[Writer], redis: Redis) -> None:
        write(readers[0])
        changes = pending()
        ours = push.push_slices(changes, at=before("deliver", lambda: push.push_slice(changes, 4)))
        assert ours.outcome is Outcome.LOST
        assert pending()[0].cursor == str(readers[4].pk)
        assert all_right(redis, readers)

    def test_cursor_moved_by_another_push_is_not_overwritten(self, readers: list[Writer]) -> None:
        write(readers[0])
        [change] = pending()

        def overtake() -> None:
            Change.objects.filter(pk=change.pk).update(cursor="1")

        assert push.push_slice([change], 4, at=before("note", overtake)).outcome is Outcome.LOST
        assert pending()[0].cursor == "1"

    def test_guard_is_released(self, readers: list[Writer], redis: Redis) -> None:
        write(readers[0])
        push.push_slice(pending(), 4)
        assert redis.keys(naming.guard("tfeed", "*")) == []


def test_pushed_row_of_an_unregistered_mirror_is_applied(own_registry: None, readers: list[Writer]) -> None:
    write(readers[0])
    registry.unregister("tfeed")
    drains.drain_all()
    assert not pending()


def test_pushes_of_other_rows_are_left_until_push_all(readers: list[Writer], redis: Redis) -> None:
    write(readers[0])
    assert push.push_keys("tfeed", "mirrortest_note", deadline=drains.Deadline(0)) == (0, True)
    assert push.push_keys("tfeed", "mirrortest_note", ["0:0"], redis=relay_client()) == (0, False)
    assert push.push_all() == 1
    assert not Reading.objects.filter(reader=readers[0]).exists()
