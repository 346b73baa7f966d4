"""Rows created in bulk are pushed together, and only into existing windows."""

import pytest
from redis import Redis

from mirror.outbox import progress
from mirror.redis.recorder import record
from mirror.windows import push, slices, window
from mirror.windows.slices import Outcome
from tests.mirror.notes import FEED, all_right, feed, make_readers, pending, says
from tests.projects.mirrortest.models import Note, Writer
from tests.support.killed import before

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
READERS, NOTES = 13, 30


@pytest.fixture
def readers() -> list[Writer]:
    return make_readers(READERS)


def write_many(writer: Writer) -> list[int]:
    return [note.pk for note in Note.objects.bulk_create(Note(writer=writer, topic="a") for _ in range(NOTES))]


def test_bulk_created_rows_are_pushed_in_one_slice(readers: list[Writer], redis: Redis) -> None:
    ids = write_many(readers[0])
    assert push.push_slice(pending()).applied == NOTES
    assert [says(redis, reader) for reader in readers] == [ids[: -FEED.length - 1 : -1]] * READERS
    assert all_right(redis, readers)


@pytest.mark.only_on("single")  # it counts the commands or round trips of one Redis
def test_cold_windows_receive_no_commands(readers: list[Writer], redis: Redis) -> None:
    warm, cold = readers[1:3], [readers[0], *readers[3:]]
    redis.delete(*(feed(reader) for reader in cold))
    write_many(readers[0])
    with record() as seen:
        assert push.push_slice(pending()).applied == NOTES
    sent = [command for command in seen.commands if command.name == "EVALSHA"]
    assert {key for command in sent for key in map(str, command.args) if key.endswith("}:feed")} == {
        feed(reader) for reader in warm
    }
    assert not any(redis.exists(feed(reader)) for reader in cold)
    assert all_right(redis, warm)


def test_window_warmed_during_the_push_has_the_rows(readers: list[Writer], redis: Redis) -> None:
    late = readers[5]
    redis.delete(feed(late))
    ids = write_many(readers[0])
    push.push_slices(pending(), at=before("deliver", lambda: window.warm(FEED, str(late.pk))))
    assert says(redis, late) == ids[: -FEED.length - 1 : -1]
    assert all_right(redis, readers)


def test_push_without_any_window_delivers_nothing_and_is_applied(readers: list[Writer], redis: Redis) -> None:
    redis.delete(*(feed(reader) for reader in readers))
    write_many(readers[0])
    with record() as seen:
        assert push.push_slices(pending()).outcome is Outcome.DONE
    assert not any(command.name == "EVALSHA" for command in seen.commands)
    assert not pending()


def test_rows_beyond_one_slice_take_several(
    readers: list[Writer], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "ROWS", 10 * READERS)
    write_many(readers[0])
    assert 0 < push.push_slice(pending()).applied < 10
    push.push_all()
    assert not pending()
    assert all_right(redis, readers)


@pytest.mark.only_on("sqlite")
def test_first_pending_pushes_are_found_through_the_index(readers: list[Writer]) -> None:
    plan = progress.pending("tfeed", "mirrortest_note")[:100].explain()
    assert "USING INDEX mirror_change_in_order" in plan
    assert "B-TREE" not in plan
