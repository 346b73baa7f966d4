"""A worker is killed during a fan-out: the sweep completes it, and every window gets the note once."""

import pytest
from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.relay import drains
from mirror.upkeep import rebuild
from mirror.windows.declare import CUT, SENTINEL, WindowMirror
from tests.projects.mirrortest.models import Note, Reading, Writer
from tests.projects.mirrortest.windows import FEED, feed_of
from tests.support.faults.crew import ALONE, Crew
from tests.support.servers import wait_until

READERS = 5_000  # a slice has a thousand windows
SOURCE = Note._meta.db_table


def feed() -> WindowMirror:
    """Return the window mirror that receives notes."""
    found = registry.get("tfeed")
    assert isinstance(found, WindowMirror)
    return found


@pytest.fixture
def readers(state: Redis) -> list[Writer]:
    """Create readers of the first writer. Each has a full window of older notes."""
    people = Writer.objects.bulk_create(Writer(name=f"reader {n}") for n in range(READERS))
    Reading.objects.bulk_create(Reading(reader=reader, writer=people[0]) for reader in people[1:])
    old = Note.objects.bulk_create(Note(writer=people[0], topic="old") for _ in range(FEED + 1))
    Change.objects.all()._raw_delete("default")
    rebuild.rebuild(["treading", "tignoring", "tfeed"])
    drains.drain_all()
    pipe = state.pipeline(transaction=False)
    for person in people:
        window = {SENTINEL: CUT} | {str(note.pk): note.pk for note in old[1:]}
        pipe.zadd(feed().record_key(str(person.pk)), window)
    pipe.execute()
    return people


def progress() -> str | None:
    """Return the cursor of the fan-out: "" when it is complete, None before its first slice."""
    change = Change.objects.filter(mirror="tfeed", source=SOURCE).get()
    return "" if change.applied_at else change.cursor


def windows(state: Redis, people: list[Writer]) -> list[list[bytes]]:
    """Return the members of each window, newest first, with the sentinel last."""
    pipe = state.pipeline(transaction=False)
    for person in people:
        pipe.zrevrange(feed().record_key(str(person.pk)), 0, -1)
    return list(pipe.execute())


@pytest.mark.slow
def test_fault_6_worker_killed_during_a_fan_out_loses_nothing(crew: Crew, state: Redis, readers: list[Writer]) -> None:
    [new] = Note.objects.bulk_create([Note(writer=readers[0], topic="new")])  # without a hint, so the sweep finds it
    crew.beat()
    crew.kill_standing("worker", ALONE, "mirror.outbox.progress.note 2")
    assert progress()
    reached = [str(new.pk).encode() in window for window in windows(state, readers)]
    assert 0 < sum(reached) < READERS
    crew.worker()
    wait_until(lambda: progress() == "", "the sweep has it finished")
    wanted = [str(pk).encode() for pk in feed_of(readers[1].pk).order_by("-pk").values_list("pk", flat=True)[:FEED]]
    assert windows(state, readers) == [[*wanted, SENTINEL.encode()]] * READERS
