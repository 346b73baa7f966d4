"""Shared by the tests of pushed rows: notes of a writer, and readers with warm windows."""

from collections.abc import Callable, Sequence
from typing import Any

from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.relay import drains
from mirror.windows import push, window
from mirror.windows.declare import CUT, SENTINEL, WHOLE, WindowMirror
from tests.support.mirror.app.models import Note, Reading, Writer
from tests.support.mirror.app.windows import feed_of
from tests.support.warm_mirrors import OWN, rebuild

SOURCE = Note._meta.db_table


class Killed(BaseException):
    """Stands for the death of a process."""


def feed() -> WindowMirror:
    """Return the window mirror that receives notes."""
    found = registry.get("tfeed")
    assert isinstance(found, WindowMirror)
    return found


def make_readers(count: int) -> list[Writer]:
    """Create writers and let the others read the first one. All windows are warm, and no change is pending."""
    people = Writer.objects.bulk_create(Writer(name=f"reader {n}") for n in range(count))
    Reading.objects.bulk_create(Reading(reader=reader, writer=people[0]) for reader in people[1:])
    rebuild(OWN)
    drains.drain_all()
    warm(*people)
    return people


def warm(*people: Writer) -> None:
    """Warm the windows of these writers."""
    for person in people:
        assert window.warm(feed(), str(person.pk))


def pending() -> list[Change]:
    """Return the pending changes of notes."""
    return list(Change.objects.pending().filter(mirror="tfeed", source=SOURCE).order_by("id"))


def says(redis: Redis, person: Writer) -> list[int]:
    """Return the notes in a window, newest first; none if it is cold."""
    found: Any = redis.zrange(feed().record_key(str(person.pk)), 1, -1)
    return [int(member) for member in found][::-1]


def is_warm(redis: Redis, person: Writer) -> bool:
    """Return whether the window is warm."""
    return redis.zscore(feed().record_key(str(person.pk)), SENTINEL) in (WHOLE, CUT)


def is_right(redis: Redis, person: Writer) -> bool:
    """Return whether a warm window equals SQL from its lowest note upwards."""
    end, said = redis.zscore(feed().record_key(str(person.pk)), SENTINEL), says(redis, person)
    wanted = list(feed_of(person.pk).order_by("-pk").values_list("pk", flat=True))
    return said == (wanted if end == WHOLE else [pk for pk in wanted if pk >= said[-1]])


def all_right(redis: Redis, people: Sequence[Writer]) -> bool:
    """Drain everything. Return whether all windows are warm and equal SQL."""
    drains.drain_all()
    assert not Change.objects.pending().exists()
    return all(is_warm(redis, person) and is_right(redis, person) for person in people)


def before(step: str, do: Callable[[], object], *, nth: int = 1) -> Callable[[str], None]:
    """Return an ``at`` callback for ``push.push_slices`` that runs ``do`` before the nth time of this step."""
    seen = [0]

    def at(name: str) -> None:
        seen[0] += name == step
        if name == step and seen[0] == nth:
            do()

    return at


def kill() -> None:
    """Die."""
    raise Killed


def push_pending(limit: int = 1000) -> None:
    """Push all pending notes, in slices of this size."""
    while group := pending():
        push.push_slice(group[:1], limit)
