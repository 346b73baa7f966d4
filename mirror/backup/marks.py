"""Dirty marks: which items SQL does not have yet, and in which version.

One sorted set for each backup: the item, scored with its version. The script that writes an item marks it in the
same step; a mark is cleared only for the version that SQL has.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mirror.scripts import Script

_HERE = Path(__file__).parent
_MARK = (_HERE / "mark.lua").read_text(encoding="utf-8")
_clear = Script(_HERE / "clear.lua")


def script(path: Path) -> Script:
    """A Lua script in which ``mark(marks, item)`` can be called: what is written and its mark are one step."""
    return Script(path, head=_MARK)


def oldest(redis: Any, marks: str, limit: int) -> dict[str, int]:
    """The items marked longest ago, with their versions (microseconds since 1970 as Redis tells the time)."""
    found = redis.zrange(marks, 0, limit - 1, withscores=True)
    return {item.decode(): int(version) for item, version in found}


def clear(redis: Any, marks: str, versions: Mapping[str, int]) -> int:
    """Clear the marks that still have these versions. Returns how many did."""
    flat = [part for pair in versions.items() for part in pair]
    return int(_clear(redis, [marks], flat)) if flat else 0
