"""Rows are pushed into warm windows, slice by slice; whatever stops a push, the windows say what SQL says in the end."""

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from mirror import push, rebuild, registry, relay, window
from mirror.declare import CUT, SENTINEL, WHOLE, WindowMirror
from mirror.models import Change
from mirror.slices import Outcome
from tests.mirror.app.models import Ignoring, Note, Reading, Writer
from tests.mirror.app.windows import FEED, feed_of

pytestmark = pytest.mark.usefixtures("committed", "no_hints")
READERS = 12


def feed() -> WindowMirror:
    found = registry.get("tfeed")
    assert isinstance(found, WindowMirror)
    return found


def says(redis: Redis, reader: Writer) -> list[int]:
    """What a window holds, newest first; [] when it is cold, too."""
    return [int(member) for member in redis.zrange(feed().key(str(reader.pk)), 1, -1)][::-1]


def is_right(redis: Redis, reader: Writer) -> bool:
    """Whether a warm window is what SQL says from its lowest member upwards."""
    end = redis.zscore(feed().key(str(reader.pk)), SENTINEL)
    assert end in (WHOLE, CUT)
    said = says(redis, reader)
    wanted = list(feed_of(reader.pk).order_by("-pk").values_list("pk", flat=True))
    return said == (wanted if end == WHOLE else [pk for pk in wanted if pk >= said[-1]])


@pytest.fixture
def readers() -> list[Writer]:
    """The first one writes, the others read them; all windows are warm."""
    people = Writer.objects.bulk_create(Writer(name=f"reader {n}") for n in range(READERS))
    Reading.objects.bulk_create(Reading(reader=reader, writer=people[0]) for reader in people[1:])
    rebuild.rebuild()
    relay.drain_all()
    for person in people:
        assert window.warm(feed(), str(person.pk))
    return people


def pending() -> list[Change]:
    return list(Change.objects.pending().exclude(source="").filter(mirror="tfeed").order_by("id"))


def test_a_row_is_pushed_into_all_windows_that_it_concerns(readers: list[Writer], redis: Redis) -> None:
    note = Note.objects.create(writer=readers[0], topic="a")
    assert push.run(pending()).outcome is Outcome.DONE
    assert [says(redis, reader) for reader in readers] == [[note.pk]] * READERS
    assert not pending()
