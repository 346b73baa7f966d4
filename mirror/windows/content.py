"""The content of a window: its members and scores, as Redis returns them, and as SQL and rest require."""

import math
from collections.abc import Collection, Mapping
from typing import Any

from mirror.comparison.targets import Target
from mirror.declare.entries import Scored
from mirror.windows.reading import CUT, SENTINEL


def read_scores(reply: Any) -> dict[str, float]:
    """Return the members and scores in a reply to ZRANGE WITHSCORES."""
    if not reply:
        return {}
    pairs = reply
    if not isinstance(reply[0], (list, tuple)):
        # RESP3 has a list for each member, RESP2 one flat list.
        pairs = zip(reply[::2], reply[1::2], strict=True)
    return {member.decode(errors="replace"): float(score) for member, score in pairs}


def get_scores(target: Target) -> dict[str, float]:
    """Return the members and scores that a window's target names."""
    return {entry.member: entry.score for entry in target.entries if isinstance(entry, Scored)}


def settle_scores(
    stored: Mapping[str, float], computed: Mapping[str, float], moving: Collection[str]
) -> dict[str, float]:
    """Return the expected members and scores at rest of a warm window.

    stored: those in Redis. computed: those of a window made now. moving: the members with a pending push, which may
    be present or not.
    """
    wanted = dict(computed)
    is_cut = wanted.pop(SENTINEL) == CUT
    # SQL was asked for the newest rows alone, so that older members have nothing to be compared with.
    lowest_computed = min(wanted.values()) if is_cut else 0
    floor = _find_floor(stored, moving)
    settled = {member: score for member, score in wanted.items() if score >= floor and member not in moving}
    for member, score in stored.items():
        is_unknown = _is_id(member) and int(member) < lowest_computed
        if is_unknown or member in moving:
            settled[member] = score
    settled[SENTINEL] = stored[SENTINEL]
    if is_cut and not moving:
        # A pending push may be the one that cuts the window: until then, either state is right.
        settled[SENTINEL] = CUT
    return settled


def _find_floor(stored: Mapping[str, float], moving: Collection[str]) -> float:
    """Return the id from which on a warm window has all rows, or infinity if it has no such id."""
    if stored[SENTINEL] != CUT:
        return 0
    ids = [int(member) for member in stored if _is_id(member) and member not in moving]
    return min(ids, default=math.inf)


def _is_id(member: str) -> bool:
    # Not isdigit: it accepts "²", which int() refuses.
    is_number = member.isascii() and member.isdecimal()
    # The sentinel is no id.
    return is_number and member[0] != "0"
