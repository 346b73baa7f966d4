"""How often somebody may try to log in: ``backend.Backend`` asks before a password is checked, and counts here.

A try is *reserved* before its password is checked, in one atomic step, so that fifty at once are no more than the
limit; it is given back when the password was right. The counters are in Redis. SQL has the failures too: a Redis
that was emptied starts with them, and while Redis is away the same is done in SQL alone.
"""

import logging
import math
from collections.abc import Sequence
from typing import NamedTuple

from accounts.lockout import counters_redis, counters_sql
from accounts.lockout.limits import Counter
from mirror.redis import RedisError, breaker, is_away

logger = logging.getLogger("accounts")


class Try(NamedTuple):
    """One try to log in. wait: seconds until it may be made, 0: it is counted and may be made now."""

    counters: tuple[Counter, ...]
    wait: int = 0
    in_redis: bool = False  # or counted in SQL already


def reserve(counters: Sequence[Counter]) -> Try:
    """Count a try, unless one of its counters is full. Never fails because Redis did."""
    asked = tuple(counters)
    if not breaker.open():
        try:
            wait = counters_redis.reserve(asked, counters_sql.known(asked))
            return Try(asked, math.ceil(wait), in_redis=True)
        except RedisError as error:
            _note(error)
    return Try(asked, math.ceil(counters_sql.reserve(asked)))


def failed(this: Try) -> None:
    """The password was wrong: SQL has to know as well."""
    if this.in_redis:
        counters_sql.add(this.counters)


def succeeded(this: Try) -> None:
    """The password was right: who it is starts anew; what others share gets this try back."""
    own = [counter for counter in this.counters if counter.limit.own]
    shared = [counter for counter in this.counters if not counter.limit.own]
    counters_sql.clear(own)
    if not this.in_redis:
        counters_sql.give_back(shared)
    if not breaker.open():
        try:
            counters_redis.clear([counter.key for counter in own])
            if this.in_redis:
                counters_redis.give_back(shared)
        except RedisError as error:
            _note(error)


def unlock(*, name: str | None = None, address: str | None = None, keys: Sequence[str] | None = None) -> int:
    """Forget the failures of a (folded) name, of an address, of both together, or all; or only the counters with
    these keys.

    Returns how many counters there were. What Redis has while it is away stays there until it expires.
    """
    count = 0
    for found in counters_sql.remove(name=name, address=address, keys=keys):
        count += len(found)
        try:
            counters_redis.clear(found)
        except RedisError as error:
            _note(error)
    return count


def _note(error: RedisError) -> None:
    if is_away(error):
        breaker.failed()
    logger.warning("Redis does not count logins now, SQL does: %s", error)
