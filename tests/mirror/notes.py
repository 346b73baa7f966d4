"""Writers, notes and windows, for tests of windows and of pushed rows."""

from collections.abc import Sequence
from typing import Any

from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.redis.clients import client, relay_client
from mirror.relay import drains
from mirror.windows import push, window
from mirror.windows.declare import CUT, SENTINEL, WHOLE, WindowMirror
from tests.projects.mirrortest.models import Ignoring, Note, Reading, Writer
from tests.support.mirror.world import feed_by_orm
from tests.support.warm_mirrors import OWN, rebuild

NEWEST = 1000  # default number of ids that ``sliced`` requests
SOURCE = Note._meta.db_table


def windows(name: str = "tfeed") -> WindowMirror:
    """Return a window mirror by its name."""
    found = registry.get(name)
    assert isinstance(found, WindowMirror)
    return found


FEED = windows()


def writer(name: str = "w", *reads: Writer) -> Writer:
    """Create a writer and reader of these writers."""
    made = Writer.objects.create(name=name)
    for other in reads:
        Reading.objects.create(reader=made, writer=other)
    return made


def ignore(reader: Writer, other: Writer) -> None:
    """Let a reader ignore a writer."""
    Ignoring.objects.create(reader=reader, writer=other)


def notes(author: Writer, count: int = 1, topic: str = "t") -> list[int]:
    """Create so many notes. Return their ids, newest first."""
    return [Note.objects.create(writer=author, topic=topic).pk for _ in range(count)][::-1]


def feed(owner: Writer) -> str:
    """Return the key of a writer's feed."""
    return FEED.record_key(str(owner.pk))


def warm(owner: Writer) -> bool:
    """Warm a writer's feed. Return whether it exists then."""
    return window.warm(FEED, str(owner.pk))


def about(seconds: int) -> int:
    """Round a life to thousands of seconds, because part of it has passed."""
    return round(seconds, -3)


LIFE = about(FEED.life_seconds)


def sliced(owner: object, below: int | None = None, limit: int = NEWEST, name: str = "tfeed") -> window.Slice | None:
    """Return a slice of a window as a reader gets it, with its life in thousands of seconds."""
    pipe = client().pipeline(transaction=False)
    window.ask(pipe, windows(name), str(owner.pk if isinstance(owner, Writer) else owner), below, limit)
    found = window.answer(pipe.execute())
    return found and found._replace(life=found.life if found.life < 0 else about(found.life))


def held(owner: Writer) -> dict[str, float]:
    """Return the members and scores of a feed in Redis."""
    pairs: Any = relay_client().zrange(feed(owner), 0, -1, withscores=True)
    return {member.decode(): score for member, score in pairs}


def whole(*ids: int) -> dict[str, float]:
    """Return the content of a whole feed: these are all its notes."""
    return {str(one): float(one) for one in ids} | {"0": 0.0}


def cut(*ids: int) -> dict[str, float]:
    """Return the content of a cut feed: SQL has more notes."""
    return whole(*ids) | {"0": -1.0}


def is_right(owner: Writer) -> bool:
    """Return whether a feed equals the ORM's from its lowest note upwards, and is not too long."""
    found = held(owner)
    end, ids = found.pop("0"), sorted(map(int, found), reverse=True)
    expected = [one for one in feed_by_orm(owner.pk) if end == 0 or (ids and one >= ids[-1])]
    return ids == expected and len(ids) <= FEED.length and all(float(m) == s for m, s in found.items())


def forget_pushes() -> None:
    """Delete the changes that would be pushed."""
    Change.objects.filter(mirror="tfeed").exclude(source="")._raw_delete("default")


def make_readers(count: int) -> list[Writer]:
    """Create writers and let the others read the first one. All windows are warm, and no change is pending."""
    people = Writer.objects.bulk_create(Writer(name=f"reader {n}") for n in range(count))
    Reading.objects.bulk_create(Reading(reader=reader, writer=people[0]) for reader in people[1:])
    rebuild(OWN)
    drains.drain_all()
    for person in people:
        assert warm(person)
    return people


def pending() -> list[Change]:
    """Return the pending changes of notes."""
    return list(Change.objects.pending().filter(mirror="tfeed", source=SOURCE).order_by("id"))


def says(redis: Redis, person: Writer) -> list[int]:
    """Return the notes in a window, newest first; none if it is cold."""
    found: Any = redis.zrange(feed(person), 1, -1)
    return [int(member) for member in found][::-1]


def all_right(redis: Redis, people: Sequence[Writer]) -> bool:
    """Drain everything. Return whether all windows are warm and equal SQL."""
    drains.drain_all()
    assert not Change.objects.pending().exists()
    ends = [redis.zscore(feed(person), SENTINEL) for person in people]
    return {*ends} <= {WHOLE, CUT} and all(map(is_right, people))


def push_pending(limit: int = 1000) -> None:
    """Push all pending notes, in slices of this size."""
    while group := pending():
        push.push_slice(group[:1], limit)
