"""Unions of many bitmaps in Redis, without a command that takes longer than a millisecond.

BITOP is fast for at most 16 bitmaps, up to the length of the shortest one, and ten to twenty times slower beyond it.
Its time grows with the bytes that it reads. So bitmaps are grouped by similar lengths, and each BITOP adds as many as
fit to the previous result.
Measured for 31 days of ten million users (Redis 7.0): 5.7 ms for the answer, 0.8 ms for the longest command.
"""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from loginlog import keys
from mirror.redis import RedisPipeline

BITMAPS_PER_BITOP: Final = 16  # bitmaps per BITOP
MAX_BITOP_BYTES: Final = 9_000_000  # bytes read per BITOP
BYTES_PER_GETRANGE: Final = 262_144  # bytes per GETRANGE
BYTES_PER_BITCOUNT: Final = 4_000_000  # bytes per BITCOUNT
SIMILAR_BITS: Final = 5  # lengths are similar if their first bits are equal: they differ by 6% at most
TEMPORARY_KEY_SECONDS: Final = 60  # expiry of temporary keys, which a killed reader leaves behind


def queue_union(pipe: RedisPipeline, lengths: Mapping[str, int], counted: bool) -> slice:
    """Queue the union of these bitmaps, given by key with their lengths in bytes, none of them 0.

    Return the positions of its replies: numbers of set bits to add up if ``counted``, otherwise parts of the bitmap to
    join.
    """
    if not lengths:
        return slice(0)
    names: list[str] = []
    target = next(iter(lengths)) if len(lengths) == 1 else _queue_groups(pipe, lengths, names)
    start = len(pipe)
    longest = max(lengths.values())
    if counted:
        queue_count(pipe, target, longest)
    else:
        queue_fetch(pipe, target, longest)
    found = slice(start, len(pipe))
    if names:
        pipe.unlink(*names)
    return found


def queue_count(pipe: RedisPipeline, name: str, length: int) -> None:
    """Queue commands that count the set bits of a bitmap, in parts."""
    for at in range(0, length, BYTES_PER_BITCOUNT):
        pipe.bitcount(name, at, at + BYTES_PER_BITCOUNT - 1)


def queue_fetch(pipe: RedisPipeline, name: str, length: int) -> None:
    """Queue commands that read a bitmap, in parts."""
    for at in range(0, length, BYTES_PER_GETRANGE):
        pipe.getrange(name, at, at + BYTES_PER_GETRANGE - 1)


def _queue_groups(pipe: RedisPipeline, lengths: Mapping[str, int], made: list[str]) -> str:
    """Queue the union of the bitmaps. Return the key of the result. The caller deletes all keys added to ``made``."""
    token = uuid.uuid4().hex
    similar: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name, length in lengths.items():
        # Lengths with as many bits and equal first bits are similar.
        size = length.bit_length()
        similar[size, length >> max(0, size - SIMILAR_BITS)].append(name)
    longest = max(lengths.values())
    for _, names in sorted(similar.items(), reverse=True):
        length = max(lengths[name] for name in names)
        target = keys.union(f"{token}.{len(made)}")
        _queue_bitop(pipe, target, names, length)
        # BITOP is slow beyond the end of its shortest bitmap, so all results get the length of the longest one.
        if length < longest:
            pipe.setbit(target, longest * 8 - 1, 0)
        pipe.expire(target, TEMPORARY_KEY_SECONDS)
        made.append(target)
    if len(made) > 1:
        _queue_bitop(pipe, made[0], made, longest)
        pipe.expire(made[0], TEMPORARY_KEY_SECONDS)
    return made[0]


def _queue_bitop(pipe: RedisPipeline, target: str, names: Sequence[str], length: int) -> None:
    """OR bitmaps of at most this length into ``target``, which may be the first of them."""
    at_once = max(2, min(BITMAPS_PER_BITOP, MAX_BITOP_BYTES // length))
    pipe.bitop("OR", target, *names[:at_once])
    for at in range(at_once, len(names), at_once - 1):
        pipe.bitop("OR", target, target, *names[at : at + at_once - 1])
