"""Rows that were made in bulk are pushed together, and to those alone who have a window."""

import pytest
from redis import Redis

from mirror import progress, push, slices, window
from mirror.recorder import record
from mirror.slices import Outcome
from tests.support.mirror.app.models import Note, Writer
from tests.support.mirror.app.windows import FEED
from tests.support.mirror.pushing import all_right, before, feed, make_readers, pending, says

pytestmark = pytest.mark.usefixtures("committed", "no_hints")
READERS, NOTES = 13, 30


@pytest.fixture
def readers() -> list[Writer]:
    return make_readers(READERS)


def write_many(writer: Writer) -> list[int]:
    return [note.pk for note in Note.objects.bulk_create(Note(writer=writer, topic="a") for _ in range(NOTES))]


def test_rows_by_the_hundred_are_pushed_in_one_slice(readers: list[Writer], redis: Redis) -> None:
    ids = write_many(readers[0])
    assert push.step(pending()).applied == NOTES
    assert [says(redis, reader) for reader in readers] == [ids[: -FEED - 1 : -1]] * READERS
    assert all_right(redis, readers)


def test_those_without_a_window_are_not_troubled(readers: list[Writer], redis: Redis) -> None:
    warm, cold = readers[1:3], [readers[0], *readers[3:]]
    redis.delete(*(feed().key(str(reader.pk)) for reader in cold))
    write_many(readers[0])
    with record() as seen:
        assert push.step(pending()).applied == NOTES
    sent = [command for command in seen.commands if command.name == "EVALSHA"]
    assert {key for command in sent for key in map(str, command.args) if key.endswith("}:feed")} == {
        feed().key(str(reader.pk)) for reader in warm
    }
    assert not any(redis.exists(feed().key(str(reader.pk))) for reader in cold)
    assert all_right(redis, warm)


def test_a_window_that_is_made_just_after_it_was_found_cold_has_the_rows(readers: list[Writer], redis: Redis) -> None:
    late = readers[5]
    redis.delete(feed().key(str(late.pk)))
    ids = write_many(readers[0])
    push.run(pending(), at=before("deliver", lambda: window.warm(feed(), str(late.pk))))
    assert says(redis, late) == ids[: -FEED - 1 : -1]
    assert all_right(redis, readers)


def test_with_no_window_at_all_nothing_is_delivered_and_all_is_done(readers: list[Writer], redis: Redis) -> None:
    redis.delete(*(feed().key(str(reader.pk)) for reader in readers))
    write_many(readers[0])
    with record() as seen:
        assert push.run(pending()).outcome is Outcome.DONE
    assert not any(command.name == "EVALSHA" for command in seen.commands)
    assert not pending()


def test_more_rows_than_fit_one_slice_take_several(
    readers: list[Writer], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "ROWS", 10 * READERS)
    write_many(readers[0])
    assert 0 < push.step(pending()).applied < 10
    push.push_all()
    assert not pending()
    assert all_right(redis, readers)


@pytest.mark.on_sqlite
def test_the_first_of_very_many_are_found_without_sorting_all(readers: list[Writer]) -> None:
    plan = progress.pending("tfeed", "mirrortest_note")[:100].explain()
    assert "USING INDEX mirror_change_in_order" in plan
    assert "B-TREE" not in plan
