"""Dirty marks: which items SQL does not have yet, and in which version.

One sorted set for each backup: the item, scored with its version. The script that writes an item marks it in the
same step; a mark is cleared only for the version that SQL has. What SQL refuses is set aside: its mark stays, with
its version below zero, and its error is kept beside it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mirror import naming
from mirror.backup.declare import Backup
from mirror.scripts import Script

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
    """A Lua script in which ``mark(marks, item)`` can be called: what is written and its mark are one step."""
    return Script(path, head=_MARK)


def guarded(path: Path) -> Script:
    """As ``script``, for ``access.write``: it runs only on what is nothing older than SQL's (``guard.lua``)."""
    return Script(path, head=_MARK + _GUARD)


def newest(backup: Backup, redis: Any) -> int:
    """The newest version there is, 0 without marks: up to which a flush goes."""
    found = redis.zrevrange(backup.marks(), 0, 0, withscores=True)
    return max(0, int(found[0][1])) if found else 0


def oldest(backup: Backup, redis: Any, limit: int, until: int) -> dict[str, int]:
    """The items marked longest ago (none set aside), up to a version, with their versions: microseconds since 1970
    as Redis tells the time.
    """
    found = redis.zrangebyscore(backup.marks(), "(0", until, start=0, num=limit, withscores=True)
    return {item.decode(): int(version) for item, version in found}


def versions(backup: Backup, redis: Any, items: Sequence[str]) -> dict[str, int]:
    """The versions of those of ``items`` that are marked, set aside or not."""
    scores = redis.zmscore(backup.marks(), list(items)) if items else []
    return {item: abs(int(score)) for item, score in zip(items, scores, strict=True) if score is not None}


def mark(backup: Backup, redis: Any, items: Sequence[str]) -> None:
    """Mark these items, whatever they hold: SQL is to be told of them."""
    for start in range(0, len(items), STEP):
        _mark_all(redis, [backup.marks()], items[start : start + STEP])


def clear(backup: Backup, redis: Any, done: Versions) -> int:
    """Clear the marks that still have these versions. Returns how many did."""
    flat = [part for pair in done.items() for part in pair]
    return int(_clear(redis, [backup.marks(), naming.aside(backup.marks())], flat)) if flat else 0


def set_aside(backup: Backup, redis: Any, failed: Versions, errors: Mapping[str, str]) -> None:
    """Set aside what still has these versions, each with its error."""
    flat = [part for item, version in failed.items() for part in (item, version, errors[item])]
    _set_aside(redis, [backup.marks(), naming.aside(backup.marks())], flat)


def retry(backup: Backup, redis: Any) -> int:
    """Put what was set aside among the others again, and forget errors of items that are marked no more.

    Returns how many are to be tried again.
    """
    names = [item.decode() for item in redis.hkeys(naming.aside(backup.marks()))[:STEP]]
    marked = versions(backup, redis, names)
    if gone := [name for name in names if name not in marked]:
        redis.hdel(naming.aside(backup.marks()), *gone)
    total = 0
    while count := int(_retry(redis, [backup.marks()], [STEP])):
        total += count
    return total


def errors(backup: Backup, redis: Any, limit: int) -> dict[str, str]:
    """Why items were set aside, ``limit`` of them at most."""
    items = redis.zrangebyscore(backup.marks(), "-inf", "(0", start=0, num=limit)
    said = redis.hmget(naming.aside(backup.marks()), items) if items else []
    return {item.decode(): (text or b"").decode() for item, text in zip(items, said, strict=True)}
