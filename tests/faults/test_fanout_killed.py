"""A worker that is killed in the middle of a fan-out: the sweep has it finished, once for everybody."""

import pytest
from redis import Redis

from mirror import rebuild, registry, relay
from mirror.declare import CUT, SENTINEL, WindowMirror
from mirror.models import Change
from tests.support.faults.crew import ALONE, Crew
from tests.support.mirror.app.models import Note, Reading, Writer
from tests.support.mirror.app.windows import FEED, feed_of
from tests.support.servers import wait_until

pytestmark = pytest.mark.on_postgres

READERS = 5_000  # the worker takes a thousand at a time
SOURCE = Note._meta.db_table


def feed() -> WindowMirror:
    """The windows that notes are pushed into."""
    found = registry.get("tfeed")
    assert isinstance(found, WindowMirror)
    return found


@pytest.fixture
def readers(state: Redis) -> list[Writer]:
    """Thousands who read the first one, each with a full window of older notes."""
    people = Writer.objects.bulk_create(Writer(name=f"reader {n}") for n in range(READERS))
    Reading.objects.bulk_create(Reading(reader=reader, writer=people[0]) for reader in people[1:])
    old = Note.objects.bulk_create(Note(writer=people[0], topic="old") for _ in range(FEED + 1))
    Change.objects.all()._raw_delete("default")
    rebuild.rebuild(["treading", "tignoring", "tfeed"])
    relay.drain_all()
    pipe = state.pipeline(transaction=False)
    for person in people:
        window = {SENTINEL: CUT} | {str(note.pk): note.pk for note in old[1:]}
        pipe.zadd(feed().key(str(person.pk)), window)
    pipe.execute()
    return people


def progress() -> str | None:
    """How far the fan-out has got."""
    change = Change.objects.filter(mirror="tfeed", source=SOURCE).get()
    return "" if change.applied_at else change.cursor


def windows(state: Redis, people: list[Writer]) -> list[list[bytes]]:
    """What each window holds, newest first, down to the sentinel."""
    pipe = state.pipeline(transaction=False)
    for person in people:
        pipe.zrevrange(feed().key(str(person.pk)), 0, -1)
    return list(pipe.execute())


@pytest.mark.slow
def test_fault_6_a_worker_killed_in_the_middle_of_a_fan_out_loses_nothing(
    crew: Crew, state: Redis, readers: list[Writer]
) -> None:
    [new] = Note.objects.bulk_create([Note(writer=readers[0], topic="new")])  # the sweep finds it: there was no hint
    crew.beat()
    crew.kill_standing("worker", ALONE, "mirror.progress.note 2")
    assert progress()
    reached = [str(new.pk).encode() in window for window in windows(state, readers)]
    assert 0 < sum(reached) < READERS
    crew.worker()
    wait_until(lambda: progress() == "", "the sweep has it finished")
    wanted = [str(pk).encode() for pk in feed_of(readers[1].pk).order_by("-pk").values_list("pk", flat=True)[:FEED]]
    assert windows(state, readers) == [[*wanted, SENTINEL.encode()]] * READERS
