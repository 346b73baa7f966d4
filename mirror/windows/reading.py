"""The commands that read a part of a window, and what their replies mean."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mirror.redis.types import RedisPipeline

if TYPE_CHECKING:
    from mirror.windows.declare import WindowMirror

ASKS: Final = 3  # number of commands that ``ask`` adds, and of replies that ``answer`` takes
SENTINEL: Final = "0"  # this member's score gives the state of a lazy window:
WHOLE: Final = 0.0  # the window holds all rows
CUT: Final = -1.0  # SQL has more rows
MAKING: Final = -2.0  # a warm-up is in progress; readers treat the window as cold


class Slice(NamedTuple):
    """A part of a window. ids: newest first. whole: SQL has no rows below them. life: seconds left, -1: unlimited.

    If there are fewer ids than requested and ``whole`` is False, SQL has to supply the rest.
    """

    ids: list[int]
    whole: bool
    life: int


def ask(pipe: RedisPipeline, mirror: "WindowMirror", owner: str, below: int | None, limit: int) -> None:
    """Add the commands (``ASKS`` of them) that read up to ``limit`` ids below ``below`` (None: the newest)."""
    key = mirror.record_key(owner)
    top = "+inf" if below is None else f"({below}"
    if mirror.lazy:
        # The sentinel is the lowest member. A short slice ends with it, so both are of the same moment.
        pipe.zscore(key, SENTINEL)
        pipe.zrevrangebyscore(key, top, MAKING, start=0, num=limit, withscores=True)
        pipe.ttl(key)
    else:
        # A window that is not full holds all rows. Asked before and after, because a pipeline is no transaction: a row
        # may enter or leave the window between its commands.
        last = mirror.length - 1
        pipe.zrevrange(key, last, last)
        pipe.zrevrangebyscore(key, top, 1, start=0, num=limit, withscores=True)
        pipe.zrevrange(key, last, last)


def answer(replies: Sequence[Any]) -> Slice | None:
    """Return the slice in the replies to ``ask``, or None for a cold window, for which SQL has to answer."""
    first, found, third = replies
    if isinstance(first, list):
        # Of an eager window, which is full if its last place is taken
        is_full = bool(first or third)
        return Slice(_read_ids(found), not is_full, -1)
    if first is None:
        return None
    end = CUT
    if found and found[-1][0] == _SENTINEL:
        _, end = found.pop()
    # The first reply as well: a slice that is long enough does not contain the sentinel.
    if MAKING in (first, end):
        return None
    return Slice(_read_ids(found), end == WHOLE, third)


def keep(pipe: RedisPipeline, mirror: "WindowMirror", owner: str) -> None:
    """Add the command that extends a window's life to its full length, because it is read."""
    if mirror.life_seconds:
        pipe.expire(mirror.record_key(owner), mirror.life_seconds)


_SENTINEL = SENTINEL.encode()


def _read_ids(found: Sequence[tuple[bytes, float]]) -> list[int]:
    return [int(member) for member, _ in found if member.isdigit()]


class _Warming:
    """How a reader requests a warm-up: ``mirror.windows.extension`` puts it here, above the declarations."""

    request: Callable[["WindowMirror", str], object]


warming = _Warming()
