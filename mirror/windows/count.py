"""The number of windows in Redis, at a bounded cost."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from mirror import registry
from mirror.comparison import scan
from mirror.declare.mirrors import Mirror
from mirror.redis.clients import try_redis
from mirror.redis.session import Session
from mirror.redis.types import RedisClient

LOOKED_AT: Final = 20_000  # keys or owners that are looked at before the number is estimated
ENOUGH: Final = 100  # minimum number of windows among the keys for a good estimate
STEP: Final = 1000  # owners in one round trip


class Count(NamedTuple):
    """A number of windows. estimated: from a sample of the keys."""

    rows: int
    estimated: bool


def windows(redis: RedisClient | None = None) -> dict[str, Count]:
    """Return the number of windows of each window mirror; {} without Redis.

    SCAN returns keys in the order of their hashes, so its first keys are a random sample. If few of them are
    windows, the windows of all owners are checked instead.
    """
    owned = [scan.Owned(mirror) for mirror in registry.all_mirrors() if mirror.lists_ids]
    return try_redis(lambda redis: _count(owned, redis), dict[str, Count], warning="", redis=redis) if owned else {}


def _count(owned: Sequence[scan.Owned], redis: RedisClient) -> dict[str, Count]:
    with Session(redis) as session:
        seen, looked_at, is_all = _some_keys(session)
        share = 1.0 if is_all else session.ask([("DBSIZE",)])[0] / looked_at
        counts = {one.mirror: sum(one.family_of(key) is not None for key in seen) for one in owned}
        rare = [] if is_all else [mirror for mirror, count in counts.items() if count < ENOUGH]
        exact = {mirror: _of_owners(mirror, session) for mirror in rare}
    return {
        mirror.name: exact.get(mirror) or Count(round(count * share), not is_all) for mirror, count in counts.items()
    }


def _of_owners(mirror: Mirror, session: Session) -> Count | None:
    """Count the windows of all owners in SQL, or return None if there are too many owners."""
    owners = mirror.keys_after(None, LOOKED_AT + 1)
    if len(owners) > LOOKED_AT:
        return None
    found = 0
    for start in range(0, len(owners), STEP):
        found += sum(session.ask([("EXISTS", mirror.record_key(owner)) for owner in owners[start : start + STEP]]))
    return Count(found, False)


def _some_keys(session: Session) -> tuple[set[str], int, bool]:
    """Return a sample of the keys, the number of keys looked at, and whether the sample is complete.

    The number includes keys with other prefixes.
    """
    seen: set[str] = set()
    for step, keys in enumerate(scan.keys(session), 1):
        seen.update(keys)
        if (looked_at := max(len(seen), step * scan.STEP)) >= LOOKED_AT:
            return seen, looked_at, False
    return seen, len(seen), True
