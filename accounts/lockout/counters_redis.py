"""Counters of login attempts in Redis. All functions raise redis-py's errors."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from accounts import keys
from accounts.lockout.limits import Counter
from mirror.redis import RedisClient, Script

_LUA: Final = Path(__file__).parent.parent / "lua"
_reserve_script: Final = Script(_LUA / "reserve.lua")
_give_back_script: Final = Script(_LUA / "give_back.lua")


def reserve(redis: RedisClient, counters: Sequence[Counter], known: Mapping[str, tuple[int, float]]) -> float:
    """Add one to each counter, or to none if one is full. Return 0, or the seconds until none is full.

    known: by key, the count in SQL and the seconds until it expires.
    """
    args: list[int] = []
    for counter in counters:
        count, left = known.get(counter.key, (0, 0.0))
        # With SQL's count, because an emptied Redis would begin at 0 and allow as many attempts again.
        args += [counter.limit.allowed, counter.limit.seconds * 1000, count, max(int(left * 1000), 1)]
    return int(_reserve_script(redis, [keys.tries(counter.key) for counter in counters], args)) / 1000


def give_back(redis: RedisClient, counters: Sequence[Counter]) -> None:
    """Subtract one from each counter."""
    if counters:
        _give_back_script(redis, [keys.tries(counter.key) for counter in counters])


def clear(redis: RedisClient, found: Sequence[str]) -> None:
    """Remove the counters with these keys."""
    if found:
        redis.unlink(*map(keys.tries, found))
