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
    """Return the number of windows of each window mirror; {} without Redis."""
    owned = [scan.Owned(mirror) for mirror in registry.all_mirrors() if mirror.lists_ids]
    if not owned:
        return {}
    return try_redis(lambda redis: _count_windows(owned, redis), dict[str, Count], warning="", redis=redis)


def _count_windows(owned: Sequence[scan.Owned], redis: RedisClient) -> dict[str, Count]:
    counts: dict[str, Count] = {}
    with Session(redis) as session:
        sample = _read_sample(session)
        factor = 1.0  # how many keys of Redis one key of the sample stands for
        if not sample.is_complete:
            (all_keys,) = session.ask([("DBSIZE",)])
            factor = all_keys / sample.looked_at
        for one in owned:
            in_sample = sum(one.family_of(key) is not None for key in sample.keys)
            exact: Count | None = None
            if in_sample < ENOUGH and not sample.is_complete:
                # A few windows among the sampled keys make a bad estimate, but few owners can be checked one by one.
                exact = _count_by_owners(one.mirror, session)
            estimate = Count(round(in_sample * factor), not sample.is_complete)
            counts[one.mirror.name] = exact or estimate
    return counts


def _count_by_owners(mirror: Mirror, session: Session) -> Count | None:
    """Count the windows of all owners in SQL, or return None if there are too many owners."""
    owners = mirror.keys_after(None, LOOKED_AT + 1)
    if len(owners) > LOOKED_AT:
        return None
    found = 0
    for start in range(0, len(owners), STEP):
        batch = owners[start : start + STEP]
        found += sum(session.ask([("EXISTS", mirror.record_key(owner)) for owner in batch]))
    return Count(found, False)


class _Sample(NamedTuple):
    """Some of the keys. looked_at: the number of keys in SCAN's steps, including those with other prefixes."""

    keys: set[str]
    looked_at: int
    is_complete: bool


def _read_sample(session: Session) -> _Sample:
    # SCAN returns keys in the order of their hashes, so its first keys are a random sample.
    seen: set[str] = set()
    for step, keys in enumerate(scan.keys(session), 1):
        seen.update(keys)
        looked_at = max(len(seen), step * scan.STEP)
        if looked_at >= LOOKED_AT:
            return _Sample(seen, looked_at, False)
    return _Sample(seen, len(seen), True)
