"""What mirror tests have in common: everything in Redis as plain data, and what it should be by the ORM alone."""

from typing import Any

import orjson
from redis import Redis

from mirror import naming, rebuild, registry, relay, sweeper
from mirror.redis import breaker, relay_client
from tests.mirror.app.models import Follow, Group, Item

World = dict[str, Any]
OURS = ("titem", "tgroup:", "tuid:", "{tlabel}:")  # how the test application's keys begin


def dump(redis: Redis) -> World:
    """Every mirrored key without the prefix, with its whole content."""
    start, world = naming.prefix(), {}
    for name in redis.scan_iter(f"{start}*", count=1000):
        kind, key = redis.type(name).decode(), name.decode().removeprefix(start)
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
    """The same, worked out from the models without any of the mirror's code."""
    world: World = {}
    for item in Item.objects.filter(hidden=False):
        labels = sorted(item.labels.values_list("name", flat=True))
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
    if newest := list(Item.objects.order_by("-pk").values_list("pk", flat=True)[:10]):
        world["titems:latest"] = [str(pk) for pk in newest]
    return world


def rest() -> None:
    """Run what runs by itself until there is nothing left to do: sweeps, and rebuilds of what is cold."""
    breaker.reset()
    for _ in range(5):
        sweeper.sweep()
        for mirror in registry.all_mirrors():
            rebuild.rebuild_if_cold(mirror.name)
        if relay.drain_all() == 0:
            return
    raise AssertionError("it does not come to rest")


def warm() -> None:
    """Every mirror rebuilt, nothing pending."""
    rebuild.rebuild(redis=relay_client())
    relay.drain_all()
