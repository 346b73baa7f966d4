"""Marks: the items that SQL does not have yet, with their versions.

Each backup has one sorted set of items, scored with their versions. The script that writes an item marks it in the
same step. A mark is cleared only for the version that SQL has. An item that SQL refuses is quarantined: its mark
stays with a negative version, and its error is stored in a hash.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mirror.backup.declare import Backup
from mirror.redis import naming
from mirror.redis.scripts import Script
from mirror.redis.types import RedisClient

_HERE = Path(__file__).parent
_MARK = (_HERE / "mark.lua").read_text(encoding="utf-8")
_GUARD = (_HERE / "guard.lua").read_text(encoding="utf-8")
_mark_all = Script(_HERE / "mark_all.lua", head=_MARK)
_clear = Script(_HERE / "clear.lua")
_set_aside = Script(_HERE / "set_aside.lua")
_retry = Script(_HERE / "retry.lua")
STEP = 1000  # items in one call of a script

Versions = Mapping[str, int]


def script(path: Path) -> Script:
    """Return a Lua script that can call ``mark(marks, item)``, so that a write and its mark are one atomic step."""
    return Script(path, head=_MARK)


def guarded(path: Path) -> Script:
    """Return a script for ``access.write``, which runs only on values not older than SQL's (``guard.lua``)."""
    return Script(path, head=_MARK + _GUARD)


def newest(backup: Backup, redis: RedisClient) -> int:
    """Return the newest version, up to which a flush goes, or 0 without marks."""
    found = redis.zrevrange(backup.marks(), 0, 0, withscores=True)
    return max(0, int(found[0][1])) if found else 0


def oldest(backup: Backup, redis: RedisClient, limit: int, until: int) -> dict[str, int]:
    """Return the oldest marked items, without quarantined ones, up to the version ``until``.

    The versions are microseconds since 1970 by Redis' clock.
    """
    found = redis.zrangebyscore(backup.marks(), "(0", until, start=0, num=limit, withscores=True)
    return {item.decode(): int(version) for item, version in found}


def versions(backup: Backup, redis: RedisClient, items: Sequence[str]) -> dict[str, int]:
    """Return the versions of the marked ones among ``items``, quarantined or not."""
    scores = redis.zmscore(backup.marks(), list(items)) if items else []
    return {item: abs(int(score)) for item, score in zip(items, scores, strict=True) if score is not None}


def mark(backup: Backup, redis: RedisClient, items: Sequence[str]) -> None:
    """Mark these items, whatever their values, so that they are flushed."""
    for start in range(0, len(items), STEP):
        _mark_all(redis, [backup.marks()], items[start : start + STEP])


def clear(backup: Backup, redis: RedisClient, done: Versions) -> int:
    """Clear the marks that still have these versions. Return their number."""
    flat = [part for pair in done.items() for part in pair]
    return int(_clear(redis, [backup.marks(), naming.aside(backup.marks())], flat)) if flat else 0


def set_aside(backup: Backup, redis: RedisClient, failed: Versions, errors: Mapping[str, str]) -> None:
    """Quarantine the items that still have these versions, with their errors."""
    flat = [part for item, version in failed.items() for part in (item, version, errors[item])]
    _set_aside(redis, [backup.marks(), naming.aside(backup.marks())], flat)


def retry(backup: Backup, redis: RedisClient) -> int:
    """Make quarantined items ordinary marked ones again, and delete the errors of items without a mark.

    Return the number of items that will be retried.
    """
    names = [item.decode() for item in redis.hkeys(naming.aside(backup.marks()))[:STEP]]
    marked = versions(backup, redis, names)
    if gone := [name for name in names if name not in marked]:
        redis.hdel(naming.aside(backup.marks()), *gone)
    total = 0
    while count := int(_retry(redis, [backup.marks()], [STEP])):
        total += count
    return total


def errors(backup: Backup, redis: RedisClient, limit: int) -> dict[str, str]:
    """Return the errors of up to ``limit`` quarantined items."""
    items = redis.zrangebyscore(backup.marks(), "-inf", "(0", start=0, num=limit)
    said = redis.hmget(naming.aside(backup.marks()), items) if items else []
    return {item.decode(): (text or b"").decode() for item, text in zip(items, said, strict=True)}
