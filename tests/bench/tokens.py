"""Compare the cleaning of sessions with deleting the oldest hundred in a loop, and touches with bare writes."""

import time
from collections.abc import Iterator, Sequence
from datetime import timedelta

from django.utils import timezone
from redis import Redis

from accounts import keys
from accounts.models import LastSeen, Session
from accounts.sessions import cleaning, last_seen
from accounts.visits import last_uses
from mirror.models import Change
from mirror.redis.clients import client, relay_client
from mirror.visits import restore
from tests.bench.table import Comparison
from tests.support.accounts.digests import digest

IN_REDIS, IN_SQL, TOUCHES, PIPE = 200_000, 20_000, 5_000, 1000
PROMISED = 100_000


def comparisons() -> Iterator[Comparison]:
    """Yield comparisons of the Redis part, of the whole cleaning with SQL and the mirror, and of touches.

    Each run removes half of the sessions.
    """
    redis = relay_client()
    digests = [digest(number) for number in range(IN_REDIS)]
    yield Comparison(
        "sessions clean, Redis' part (claim, remove)",
        "list a hundred, delete them",
        f"{IN_REDIS // 2:,} of {IN_REDIS:,} sessions",
        ours=lambda: _claim_and_remove(redis, IN_REDIS // 2),
        theirs=lambda: _list_and_delete(redis, IN_REDIS // 2),
        before=lambda: _in_redis(redis, digests),
    )
    yield Comparison(
        "the same",
        f"{PROMISED:,} sessions a second",
        f"{IN_REDIS // 2:,} of {IN_REDIS:,} sessions",
        ours=lambda: _claim_and_remove(redis, IN_REDIS // 2),
        theirs=lambda: time.sleep(IN_REDIS / 2 / PROMISED),
        target=1.0,
        before=lambda: _in_redis(redis, digests),
    )
    yield Comparison(
        "sessions clean, with SQL and the mirror",
        "list a hundred, delete them with the ORM",
        f"{IN_SQL // 2:,} of {IN_SQL:,} sessions",
        ours=lambda: cleaning.clean_sessions(IN_SQL // 2),
        theirs=lambda: _list_and_delete(redis, IN_SQL // 2, rows=True),
        target=1.0,
        before=lambda: _in_sql(redis, digests[:IN_SQL]),
    )
    yield Comparison(
        "touch of a session, one after the other",
        "bare ZADD, without a visit",
        f"{TOUCHES:,} sessions",
        ours=lambda: [last_seen.touch(each, 1.0) for each in digests[:TOUCHES]],
        theirs=lambda: [client().zadd(keys.recent(), {each: 2e9}) for each in digests[:TOUCHES]],
        target=0.5,
        before=lambda: _in_redis(redis, digests[:TOUCHES]),
    )
    _in_sql(redis, [])


def _in_redis(redis: Redis, digests: Sequence[str]) -> None:
    """Replace all sessions in Redis by these, last seen long ago in the given order."""
    redis.delete(keys.recent(), *last_uses.keys)
    for start in range(0, len(digests), PIPE):
        redis.zadd(keys.recent(), {each: 1e9 + start + i for i, each in enumerate(digests[start : start + PIPE])})


def _in_sql(redis: Redis, digests: Sequence[str]) -> None:
    """Replace all sessions on both sides by these, with no pending changes."""
    using = Session.objects.db
    LastSeen.objects.all()._raw_delete(using)
    Session.objects.all()._raw_delete(using)
    now = timezone.now()
    times = {"created_at": now - timedelta(days=20_000), "expire_date": now + timedelta(days=14)}
    Session.objects.bulk_create(
        [Session(session_key=each, session_data="x" * 150, **times) for each in digests], batch_size=PIPE
    )
    LastSeen.objects.bulk_create(
        [LastSeen(session_id=e, seen_at=times["created_at"]) for e in digests], batch_size=PIPE
    )
    Change.objects.all()._raw_delete(using)
    restore(last_uses, redis=redis)  # done beforehand, so that it is not measured
    _in_redis(redis, digests)


def _claim_and_remove(redis: Redis, limit: int) -> None:
    while claimed := cleaning.claim_oldest(redis, limit):
        last_seen.remove(redis, claimed)


def _list_and_delete(redis: Redis, limit: int, *, rows: bool = False) -> None:
    while (beyond := redis.zcard(keys.recent()) - limit) > 0:
        oldest = redis.zrange(keys.recent(), 0, min(beyond, 100) - 1)
        if rows:
            Session.objects.filter(pk__in=[each.decode() for each in oldest]).delete()
        redis.zrem(keys.recent(), *oldest)
