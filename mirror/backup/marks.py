"""Marks: the items that SQL does not have yet, with their versions.

Each backup has one sorted set of items, scored with their versions. The script that writes an item marks it in the
same step. A mark is cleared only for the version that SQL has. An item that SQL refuses is quarantined: its mark
stays with a negative version, and its error is stored in a hash.

On a cluster a mark has to be in the slot of its item. If a backup declares ``key_of``, each slot has a sorted set, and
another set lists the slots that may have marks.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from mirror.backup.declare import Backup
from mirror.cluster.slots import SLOTS, find_slot
from mirror.redis import naming
from mirror.redis.scripts import Script
from mirror.redis.session import Command, is_cluster
from mirror.redis.types import RedisClient

__all__ = ["newest", "versions"]
_HERE = Path(__file__).parent
_MARK = (_HERE / "mark.lua").read_text(encoding="utf-8")
_GUARD = (_HERE / "guard.lua").read_text(encoding="utf-8")
_mark_all = Script(_HERE / "mark_all.lua", head=_MARK)
_clear = Script(_HERE / "clear.lua")
_set_aside = Script(_HERE / "set_aside.lua")
_retry = Script(_HERE / "retry.lua")
STEP = 1000  # items in one call of a script, or slots in one round trip
FIND_MILLISECONDS = 60_000  # how often all slots of a cluster are looked at

Versions = Mapping[str, int]


def script(path: Path) -> Script:
    """Return a Lua script that can call ``mark(marks, item)``, so that a write and its mark are one atomic step."""
    return Script(path, head=_MARK)


def guarded(path: Path) -> Script:
    """Return a script for ``access.write``, which runs only on values not older than SQL's (``guard.lua``)."""
    return Script(path, head=_MARK + _GUARD)


def by_place(backup: Backup, redis: RedisClient, items: Sequence[str]) -> dict[str, list[str]]:
    """Return these items by the keys of their marks: one key, or on a cluster one for each slot."""
    if not _is_spread(backup, redis):
        return {backup.marks(): list(items)}
    found: dict[str, list[str]] = defaultdict(list)
    for item in items:
        found[backup.marks_of(item)].append(item)
    return found


def places(backup: Backup, redis: RedisClient) -> list[str]:
    """Return the keys that may have marks."""
    if not _is_spread(backup, redis):
        return [backup.marks()]
    slots = sorted(map(int, redis.smembers(naming.marked_slots(backup.name))))
    return [naming.marks_in(slot, backup.name) for slot in slots]


def _is_spread(backup: Backup, redis: RedisClient) -> bool:
    return is_cluster(redis) and backup.key_of("") is not None


def make_notes(backup: Backup, redis: RedisClient, items: Sequence[str]) -> list[Command]:
    """Return the command that notes on a cluster that the slots of these items get marks, for ``places``.

    ``find_marked_slots`` repairs a lost note.
    """
    if not (items and _is_spread(backup, redis)):
        return []
    return [("SADD", naming.marked_slots(backup.name), *{find_slot(str(backup.key_of(item))) for item in items})]


def note_marked(backup: Backup, redis: RedisClient, items: Sequence[str]) -> None:
    """Send the command of ``make_notes``."""
    for command in make_notes(backup, redis, items):
        redis.execute_command(*command)


def find_marked_slots(backup: Backup, redis: RedisClient) -> None:
    """Look for marks in all slots of a cluster, and forget slots without marks. At most once a minute."""
    once = naming.lease(f"marked:{backup.name}")
    if not (_is_spread(backup, redis) and redis.set(once, 1, nx=True, px=FIND_MILLISECONDS)):
        return
    for start in range(0, SLOTS, STEP):
        slots = range(start, min(start + STEP, SLOTS))
        pipe = redis.pipeline(transaction=False)
        for slot in slots:
            pipe.zcard(naming.marks_in(slot, backup.name))
        counts = dict(zip(slots, pipe.execute(), strict=True))
        for change, is_marked in ((redis.srem, False), (redis.sadd, True)):
            if found := [slot for slot, count in counts.items() if bool(count) is is_marked]:
                change(naming.marked_slots(backup.name), *found)


def count(backup: Backup, redis: RedisClient) -> int:
    """Return the number of marks, quarantined items included."""
    pipe = redis.pipeline(transaction=False)
    for place in places(backup, redis):
        pipe.zcard(place)
    return sum(pipe.execute())


def newest(backup: Backup, redis: RedisClient) -> int:
    """Return the newest version, up to which a flush goes, or 0 without marks."""
    pipe = redis.pipeline(transaction=False)
    for place in places(backup, redis):
        pipe.zrevrange(place, 0, 0, withscores=True)
    return max((int(found[0][1]) for found in pipe.execute() if found), default=0)


def oldest(backup: Backup, redis: RedisClient, limit: int, until: int) -> dict[str, int]:
    """Return the ``limit`` oldest marked items (-1: all), without quarantined ones, up to the version ``until``.

    The versions are microseconds since 1970 by Redis' clock.
    """
    pipe = redis.pipeline(transaction=False)
    for place in places(backup, redis):
        pipe.zrangebyscore(place, "(0", until, start=0, num=limit, withscores=True)
    found = [(int(version), item.decode()) for part in pipe.execute() for item, version in part]
    return {item: version for version, item in sorted(found)[: limit if limit >= 0 else None]}


def versions(backup: Backup, redis: RedisClient, items: Sequence[str]) -> dict[str, int]:
    """Return the versions of the marked ones among ``items``, quarantined or not."""
    if not items:
        return {}
    found, pipe = by_place(backup, redis, items), redis.pipeline(transaction=False)
    for place, part in found.items():
        pipe.zmscore(place, part)
    scores = {
        item: abs(int(score))
        for part, reply in zip(found.values(), pipe.execute(), strict=True)
        for item, score in zip(part, reply, strict=True)
        if score is not None
    }
    return {item: scores[item] for item in items if item in scores}


def mark(backup: Backup, redis: RedisClient, items: Sequence[str]) -> None:
    """Mark these items, whatever their values, so that they are flushed."""
    note_marked(backup, redis, items)
    for place, part in by_place(backup, redis, items).items():
        for start in range(0, len(part), STEP):
            _mark_all(redis, [place], part[start : start + STEP])


def clear(backup: Backup, redis: RedisClient, done: Versions) -> int:
    """Clear the marks that still have these versions. Return their number."""
    if not done:
        return 0
    total = 0
    for place, part in by_place(backup, redis, list(done)).items():
        flat = [value for item in part for value in (item, done[item])]
        total += int(_clear(redis, [place, naming.aside(place)], flat))
    return total


def set_aside(backup: Backup, redis: RedisClient, failed: Versions, errors: Mapping[str, str]) -> None:
    """Quarantine the items that still have these versions, with their errors."""
    for place, part in by_place(backup, redis, list(failed)).items():
        flat = [value for item in part for value in (item, failed[item], errors[item])]
        _set_aside(redis, [place, naming.aside(place)], flat)


def retry(backup: Backup, redis: RedisClient) -> int:
    """Make quarantined items ordinary marked ones again, and delete the errors of items without a mark.

    Return the number of items that will be retried.
    """
    total = 0
    for place in places(backup, redis):
        names = [item.decode() for item in redis.hkeys(naming.aside(place))[:STEP]]
        marked = versions(backup, redis, names)
        if gone := [name for name in names if name not in marked]:
            redis.hdel(naming.aside(place), *gone)
        while count := int(_retry(redis, [place], [STEP])):
            total += count
    return total


def errors(backup: Backup, redis: RedisClient, limit: int) -> dict[str, str]:
    """Return the errors of up to ``limit`` quarantined items."""
    found: dict[str, str] = {}
    for place in places(backup, redis):
        items = redis.zrangebyscore(place, "-inf", "(0", start=0, num=limit)
        said = redis.hmget(naming.aside(place), items) if items else []
        found |= {item.decode(): (text or b"").decode() for item, text in zip(items, said, strict=True)}
        if len(found) >= limit:
            break
    return dict(list(found.items())[:limit])
