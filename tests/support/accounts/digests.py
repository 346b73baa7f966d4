"""Create sessions by their digests, for tests that need a known number of them."""

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256

from django.utils import timezone
from redis import Redis

from accounts import keys
from accounts.models import Session


def digest(number: int) -> str:
    """Return the digest of a numbered token; digests sort in a different order than their numbers."""
    return sha256(str(number).encode()).hexdigest()


def make_sessions(count: int, *, start: int = 0, expired: bool = False) -> list[str]:
    """Create sessions in SQL only and return their digests."""
    digests = [digest(number) for number in range(start, start + count)]
    times = {
        "created_at": timezone.now() - timedelta(days=20),
        "expire_date": timezone.now() + timedelta(days=-1 if expired else 14),
    }
    Session.objects.bulk_create(Session(session_key=d, session_data="", **times) for d in digests)
    return digests


def set_last_seen(redis: Redis, digests: Sequence[str], seconds: float = 3600) -> None:
    """Set the last-seen times of these sessions in Redis: all about ``seconds`` ago, in the given order."""
    now, _ = redis.time()
    redis.zadd(keys.recent(), {d: now - seconds + number * 1e-3 for number, d in enumerate(digests)})


def read_recent_digests(redis: Redis) -> set[str]:
    """Return the digests in the ``recent:`` sorted set of Redis."""
    return {member.decode() for member in redis.zrange(keys.recent(), 0, -1)}


def read_stored_digests() -> set[str]:
    """Return the digests of all sessions in SQL."""
    return set(Session.objects.values_list("session_key", flat=True))
