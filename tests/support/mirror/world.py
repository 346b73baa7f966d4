"""Shared by the mirror's tests: the content of Redis, and the expected content computed by the ORM alone."""

from typing import Any

import orjson
from redis import Redis

from mirror import registry
from mirror.redis.clients import breaker
from mirror.relay import drains
from mirror.upkeep import rebuild, sweeper
from tests.projects.mirrortest.models import Follow, Group, Ignoring, Item, Note, Reading
from tests.support import warm_mirrors

World = dict[str, Any]
# Prefixes of the test application's keys.
OURS = ("titem", "tgroup:", "tuid:", "{tlabel}:", "twriter:", "{ttopic}:", "tnotes:")


def dump(redis: Redis) -> World:
    """Return the content of every mirrored key."""
    world: World = {}
    for name in redis.scan_iter(count=1000):
        kind, key = redis.type(name).decode(), name.decode()
        if not key.startswith(OURS):
            continue
        match kind:
            case "string":
                raw = redis.get(name).decode()
                world[key] = orjson.loads(raw) if raw.startswith("{") else raw
            case "set":
                world[key] = {m.decode() for m in redis.smembers(name)}
            case "zset":
                world[key] = {m.decode(): s for m, s in redis.zrange(name, 0, -1, withscores=True)}
            case "hash":
                world[key] = {f.decode(): v.decode() for f, v in redis.hgetall(name).items()}
            case "list":
                world[key] = [m.decode() for m in redis.lrange(name, 0, -1)]
    return world


def by_orm() -> World:
    """Return the expected content, computed from the models without code of the mirror."""
    world: World = {}
    for item in Item.objects.filter(hidden=False):
        labels = list(item.labels.order_by("pk").values_list("name", flat=True))
        world[f"titem:{item.pk}"] = {
            "id": item.pk,
            "name": item.name,
            "score": item.score,
            "group": item.group.name if item.group else None,
            "labels": labels,
        }
        world[f"titem:name:{item.name}"] = str(item.pk)
        world.setdefault("titems:score", {})[str(item.pk)] = float(item.score)
        for label in labels:
            world.setdefault("{tlabel}:" + label, set()).add(str(item.pk))
    for group in Group.objects.all():
        world[f"tgroup:{group.pk}"] = {"name": group.name, "items": str(group.items.count())}
    for a, b in Follow.objects.values_list("follower", "followed"):
        world.setdefault(f"tuid:{{{a}}}:following", set()).add(str(b))
        world.setdefault(f"tuid:{{{b}}}:followers", set()).add(str(a))
    world |= _windows_by_orm()
    if newest := list(Item.objects.order_by("-pk").values_list("pk", flat=True)[:10]):
        world["titems:latest"] = [str(pk) for pk in newest]
    return world


def _windows_by_orm() -> World:
    """Return the expected windows of notes, except the feeds."""
    world: World = {}
    for model, what in ((Reading, "reads"), (Ignoring, "ignores")):
        for reader, writer in model._base_manager.values_list("reader", "writer"):
            world.setdefault(f"twriter:{{{reader}}}:{what}", set()).add(str(writer))
    for note in Note.objects.filter(hidden=False, writer__active=True).order_by("-pk"):
        places = {f"twriter:{{{note.writer_id}}}:notes": 4, "{ttopic}:" + note.topic: 3, "tnotes:newest": 8}
        for place, length in places.items():
            if len(window := world.setdefault(place, {})) < length:
                window[str(note.pk)] = float(note.pk)
    return world


def feed_by_orm(reader: int) -> list[int]:
    """Return the ids of a reader's complete feed, newest first, without code of the mirror."""
    ignored = set(Ignoring.objects.filter(reader=reader).values_list("writer", flat=True))
    read = set(Reading.objects.filter(reader=reader).values_list("writer", flat=True)) - ignored
    notes = Note.objects.filter(writer__in=read | {reader}, hidden=False, writer__active=True)
    return sorted(notes.values_list("pk", flat=True), reverse=True)


def rest() -> None:
    """Run sweeps, and rebuilds of the cold mirrors of the tests, until nothing is left to do."""
    breaker.reset()
    for _ in range(5):
        sweeper.sweep()
        for mirror in registry.all_mirrors():
            if mirror.name not in warm_mirrors.SITE:  # there are seventy, and no test of this application reads them
                rebuild.rebuild_if_cold(mirror.name)
        if drains.drain_all() == 0:
            return
    raise AssertionError("it does not come to rest")


def warm() -> None:
    """Rebuild every mirror, and drain all pending changes."""
    warm_mirrors.rebuild(warm_mirrors.ALL)
    drains.drain_all()


def warm_own() -> None:
    """Rebuild only the mirrors of these tests, which is faster, and drain all pending changes."""
    warm_mirrors.rebuild(warm_mirrors.OWN)
    drains.drain_all()
