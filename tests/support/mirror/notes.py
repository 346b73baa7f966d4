"""Writers, notes and windows, for tests of windows."""

from typing import Any

from mirror import registry
from mirror.models import Change
from mirror.redis.clients import client, relay_client
from mirror.relay import drains
from mirror.windows import window
from mirror.windows.declare import WindowMirror
from tests.support.mirror.app.models import Ignoring, Note, Reading, Writer
from tests.support.mirror.world import feed_by_orm

NEWEST = 1000  # default number of ids that ``sliced`` requests


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


def drained() -> None:
    """Apply all pending changes except pushes."""
    drains.drain_all()


def forget_pushes() -> None:
    """Delete the changes that would be pushed."""
    Change.objects.filter(mirror="tfeed").exclude(source="")._raw_delete("default")


def pending(*mirrors: str) -> list[tuple[Any, ...]]:
    """Return mirror, source and key of the unapplied changes of these mirrors."""
    changes = Change.objects.filter(applied_at=None, mirror__in=mirrors).order_by("id")
    return list(changes.values_list("mirror", "source", "key"))
