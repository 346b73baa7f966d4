"""Writers, their notes, and the windows that show them: for tests of windows."""

from typing import Any

from mirror import registry, relay, window
from mirror.declare import WindowMirror
from mirror.models import Change
from mirror.redis import client, relay_client
from tests.support.mirror.app.models import Ignoring, Note, Reading, Writer
from tests.support.mirror.world import feed_by_orm

NEWEST = 1000  # how many ids ``sliced`` asks for when nothing is said


def windows(name: str = "tfeed") -> WindowMirror:
    """A mirror of windows by its name."""
    found = registry.get(name)
    assert isinstance(found, WindowMirror)
    return found


FEED = windows()


def writer(name: str = "w", *reads: Writer) -> Writer:
    """Somebody new, who reads these."""
    made = Writer.objects.create(name=name)
    for other in reads:
        Reading.objects.create(reader=made, writer=other)
    return made


def ignore(reader: Writer, other: Writer) -> None:
    """Somebody does not want to see what another one writes."""
    Ignoring.objects.create(reader=reader, writer=other)


def notes(author: Writer, count: int = 1, topic: str = "t") -> list[int]:
    """Ids of so many new notes, newest first."""
    return [Note.objects.create(writer=author, topic=topic).pk for _ in range(count)][::-1]


def feed(owner: Writer) -> str:
    """The key of somebody's feed."""
    return FEED.key(str(owner.pk))


def warm(owner: Writer) -> bool:
    """Make somebody's feed."""
    return window.warm(FEED, str(owner.pk))


def about(seconds: int) -> int:
    """Roughly so long: some of it may have gone by since."""
    return round(seconds, -3)


LIFE = about(FEED.life_seconds)


def sliced(owner: object, below: int | None = None, limit: int = NEWEST, name: str = "tfeed") -> window.Slice | None:
    """What a reader gets of a window; its life in thousands of seconds."""
    pipe = client().pipeline(transaction=False)
    window.ask(pipe, windows(name), str(owner.pk if isinstance(owner, Writer) else owner), below, limit)
    found = window.answer(pipe.execute())
    return found and found._replace(life=found.life if found.life < 0 else about(found.life))


def held(owner: Writer) -> dict[str, float]:
    """Everything in somebody's feed as Redis has it."""
    pairs: Any = relay_client().zrange(feed(owner), 0, -1, withscores=True)
    return {member.decode(): score for member, score in pairs}


def whole(*ids: int) -> dict[str, float]:
    """A feed of these notes, which are all there is."""
    return {str(one): float(one) for one in ids} | {"0": 0.0}


def cut(*ids: int) -> dict[str, float]:
    """A feed of these notes; there are more in SQL."""
    return whole(*ids) | {"0": -1.0}


def is_right(owner: Writer) -> bool:
    """Whether somebody's feed is what the ORM says, from its lowest note upwards, and has not too many."""
    found = held(owner)
    end, ids = found.pop("0"), sorted(map(int, found), reverse=True)
    expected = [one for one in feed_by_orm(owner.pk) if end == 0 or (ids and one >= ids[-1])]
    return ids == expected and len(ids) <= FEED.length and all(float(m) == s for m, s in found.items())


def drained() -> None:
    """Everything pending arrives, but for what is pushed."""
    relay.drain_all()


def forget_pushes() -> None:
    """Nothing that has been written is going to be pushed."""
    Change.objects.filter(mirror="tfeed").exclude(source="")._raw_delete("default")


def pending(*mirrors: str) -> list[tuple[Any, ...]]:
    """Changes that are not applied."""
    changes = Change.objects.filter(applied_at=None, mirror__in=mirrors).order_by("id")
    return list(changes.values_list("mirror", "source", "key"))
