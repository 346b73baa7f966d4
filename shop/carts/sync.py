"""Bring carts from SQL to Redis: those that were written to SQL directly, and those that have ended.

Beat starts it every few seconds.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from common import clock
from mirror.conf import setting
from mirror.redis import RedisClient, relay_client, work_or_wait
from shop.carts import rows as sql
from shop.carts import scripts
from shop.models.cart import Cart, CartQuerySet

logger = logging.getLogger("shop")

CARTS_PER_BATCH: Final = 500  # carts per batch
RESUME_AFTER: Final = timedelta(
    seconds=60
)  # a session that still exists this long after its cart was parked did not end
KEEP_ENDED_FOR: Final = timedelta(days=2)  # how long ended carts stay; longer than Redis remembers their new digest


def push_pending_carts(digests: Sequence[str], *, redis: RedisClient) -> int:
    """Send the pending carts among these to Redis. Return how many Redis has taken.

    An ended cart with content that SQL does not have yet waits for the flush. Safe to run twice at once and to kill.
    Raises redis-py's errors.
    """
    rows = {str(row.pk): row for row in _query_carts().pending_for_redis().filter(pk__in=digests)}
    # The session still exists: either its end is not committed yet, or it does not end.
    spared = sql.get_session_users([digest for digest, row in rows.items() if row.is_parked])
    told = scripts.push_carts(redis, {digest: row.content for digest, row in rows.items() if digest not in spared})
    for row in map(rows.__getitem__, told):
        as_told = {"version": row.version, "moved_to": row.moved_to, "is_parked": row.is_parked}
        _query_carts().filter(pk=row.pk, **as_told).update(is_owed=False)
    return len(told)


def try_push_all_pending_carts() -> int:
    """Run ``settle_all``. While Redis is away, return 0; all carts stay pending."""
    return work_or_wait(
        lambda redis: push_all_pending_carts(redis=redis), 0, logger, "Redis is away, it is told of carts later: %s"
    )


def push_all_pending_carts(*, redis: RedisClient | None = None) -> int:
    """Send all pending carts to Redis and delete ended carts after two days. Return how many Redis has taken."""
    redis, now, total, after = redis or relay_client(), clock.now(), 0, ""
    _resume_parked_carts(now)
    while digests := list(
        _query_carts()
        .pending_for_redis()
        .filter(pk__gt=after)
        .order_by("pk")
        .values_list("pk", flat=True)[:CARTS_PER_BATCH]
    ):
        total, after = total + push_pending_carts(digests, redis=redis), digests[-1]
    _delete_ended_carts(now)
    return total


def _resume_parked_carts(now: datetime) -> None:
    """Return parked carts to sessions that were about to end but were extended."""
    spared = _query_carts().parked().pending_for_redis().filter(ended_at__lt=now - RESUME_AFTER)
    if sessions := sql.get_session_users(spared.values_list("pk", flat=True)[:CARTS_PER_BATCH]):
        _query_carts().parked().filter(pk__in=sessions).update(is_parked=False, ended_at=None)


def _delete_ended_carts(now: datetime) -> None:
    """Delete carts two days after they moved, or after they were parked empty or without a user."""
    over = Q(is_owed=False, ended_at__lt=now - KEEP_ENDED_FOR) & (~Q(moved_to="") | Q(user=None) | Q(lines={}))
    digests = list(_query_carts().filter(over).order_by("ended_at").values_list("pk", flat=True)[:CARTS_PER_BATCH])
    if digests:
        _query_carts().filter(over, pk__in=digests).delete()


def _query_carts() -> CartQuerySet:
    return Cart.objects.using(setting("DATABASE"))
