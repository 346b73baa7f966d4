"""Many bitmaps OR-ed in Redis, with no command that takes longer than a millisecond.

BITOP is fast for at most 16 bitmaps of equal length, ten to twenty times slower otherwise; and its time grows with
what it reads. So bitmaps are taken by their lengths, as many at a time as fit, onto what has been OR-ed before.
Measured for 31 days of ten million users (Redis 7.0): 5.7 ms the whole answer, 0.8 ms the longest command.
"""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from loginlog import keys

AT_ONCE: Final = 16  # bitmaps in one BITOP
READ: Final = 9_000_000  # bytes that one BITOP reads
SLICE: Final = 262_144  # bytes in one GETRANGE
COUNTED: Final = 4_000_000  # bytes in one BITCOUNT
LIFE_SECONDS: Final = 60  # of what a reader that died has left behind


def add(pipe: Any, lengths: Mapping[str, int], counted: bool) -> slice:
    """Ask for the OR of these bitmaps (by name, with their lengths in bytes, none 0): how many bits it has, or its
    bytes. Returns where its replies will be (to be added up, or joined), counted from the second command on.
    """
    if not lengths:
        return slice(0)
    names: list[str] = []
    target = next(iter(lengths)) if len(lengths) == 1 else _ored(pipe, lengths, names)
    start = len(pipe) - 1
    (count if counted else fetch)(pipe, target, max(lengths.values()))
    found = slice(start, len(pipe) - 1)
    if names:
        pipe.unlink(*names)
    return found


def count(pipe: Any, name: str, length: int) -> None:
    """Ask how many bits are set, in parts."""
    for at in range(0, length, COUNTED):
        pipe.bitcount(name, at, at + COUNTED - 1)


def fetch(pipe: Any, name: str, length: int) -> None:
    """Ask for a bitmap, in parts."""
    for at in range(0, length, SLICE):
        pipe.getrange(name, at, at + SLICE - 1)


def _ored(pipe: Any, lengths: Mapping[str, int], made: list[str]) -> str:
    """Have the bitmaps OR-ed. Returns the key of the result; all keys that were ``made`` have to be deleted."""
    token = uuid.uuid4().hex
    by_length: dict[int, list[str]] = defaultdict(list)
    for name, length in lengths.items():
        by_length[length].append(name)
    longest = max(by_length)
    for length in sorted(by_length, reverse=True):
        target = keys.union(f"{token}.{len(made)}")
        _or(pipe, target, by_length[length], length)
        if length < longest:
            pipe.setbit(target, longest * 8 - 1, 0)
        pipe.expire(target, LIFE_SECONDS)
        made.append(target)
    if len(made) > 1:
        _or(pipe, made[0], made, longest)
        pipe.expire(made[0], LIFE_SECONDS)
    return made[0]


def _or(pipe: Any, target: str, names: Sequence[str], length: int) -> None:
    """OR bitmaps of one length into ``target``, which may be the first of them."""
    at_once = max(2, min(AT_ONCE, READ // length))
    pipe.bitop("OR", target, *names[:at_once])
    for at in range(at_once, len(names), at_once - 1):
        pipe.bitop("OR", target, target, *names[at : at + at_once - 1])
