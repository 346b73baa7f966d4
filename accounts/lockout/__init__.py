"""The lock-out: limits on login attempts, which ``backend.Backend`` checks before any password.

An attempt is *reserved* in one atomic step before its password is checked, so that 50 concurrent attempts cannot exceed
the limit; it is given back when the password is right. The counters are in Redis. SQL stores the failures as well: an
emptied Redis starts with them, and while Redis is away SQL alone counts the attempts. Counted after the check, fifty
simultaneous attempts would get about twenty checks (django-axes#592).
"""

import logging
import math
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from accounts.lockout import counters_redis, counters_sql
from accounts.lockout.limits import Counter
from mirror.redis import RedisClient, client, try_redis
from mirror.utils import after_commit

logger = logging.getLogger("accounts")
_WARNING: Final = "Redis does not count logins now, SQL does: %s"


class LoginAttempt(NamedTuple):
    """One login attempt. wait_seconds: seconds until it is allowed; 0: it is counted and allowed now."""

    counters: tuple[Counter, ...]
    wait_seconds: int = 0
    in_redis: bool = False  # False: SQL has counted it already


def reserve_attempt(counters: Sequence[Counter]) -> LoginAttempt:
    """Count an attempt, unless one of its counters is full, and return it. While Redis is away, SQL counts."""
    asked = tuple(counters)
    return try_redis(
        lambda redis: LoginAttempt(
            asked, math.ceil(counters_redis.reserve(redis, asked, counters_sql.read_counts(asked))), in_redis=True
        ),
        lambda: LoginAttempt(asked, math.ceil(counters_sql.reserve(asked))),
        logger,
        _WARNING,
    )


def record_failure(this: LoginAttempt) -> None:
    """Record in SQL that the password was wrong."""
    if this.in_redis:
        counters_sql.increment(this.counters)


def record_success(this: LoginAttempt) -> None:
    """Reset the user's own counters after a right password, and give the attempt back to the shared counters."""
    own = [counter for counter in this.counters if counter.limit.own]
    shared = [counter for counter in this.counters if not counter.limit.own]
    # SQL in the transaction of the login, Redis after its commit: a login that is rolled back resets nothing.
    counters_sql.clear(own)
    if not this.in_redis:
        counters_sql.give_back(shared)

    def reset(redis: RedisClient) -> None:
        counters_redis.clear(redis, [counter.key for counter in own])
        if this.in_redis:
            counters_redis.give_back(redis, shared)

    after_commit(try_redis, reset, lambda: None, logger, _WARNING)


def unlock(*, name: str | None = None, address: str | None = None, keys: Sequence[str] | None = None) -> int:
    """Remove the counters of a (folded) name, of an address, of both together, or all; or those with these keys.

    Return the number of removed counters. While Redis is away, its counters stay until they expire.
    """
    count = 0
    for found in counters_sql.remove(name=name, address=address, keys=keys):
        # SQL first: an attempt in between passes SQL's count to Redis, and would restore the counter there.
        count += len(found)
        try_redis(partial(counters_redis.clear, found=found), lambda: None, logger, _WARNING, redis=client())
    return count
