"""Writes to Redis that were missed while it was away."""

import logging
from typing import Final

from loginlog.corrections import erasure, removal
from loginlog.models import Owed
from loginlog.storage import scripts
from loginlog.storage import sql as store
from loginlog.storage.items import POPULATION, DaySegment, DenseIdSegment, Item, LoginMonth, parse_item
from mirror.redis import RedisClient, lease, work_or_wait

logger = logging.getLogger("loginlog")

ROWS_PER_QUERY: Final = 500  # rows per query


def settle_redis(redis: RedisClient | None = None) -> bool:
    """Clear erased users and removed logins in Redis, and write the bitmaps that it lacks. Return whether this ran.

    Beat runs this every few seconds. Nothing happens while Redis is away or another process holds the lease.
    """
    return work_or_wait(_settle, False, logger, "Redis is away, the login log waits: %s", redis=redis)


def _settle(redis: RedisClient) -> bool:
    with lease(redis, "loginlog:settle") as mine:
        if mine:
            erasure.clean_all_erased(redis)
            removal.apply_missed_removals(redis)
            write_owed(redis)
        return mine


def write_owed(redis: RedisClient) -> None:
    """Write the bitmaps to Redis that were written to SQL alone. Delete exactly the rows that were read before."""
    while rows := list(Owed.objects.order_by("pk").values_list("pk", "item")[:ROWS_PER_QUERY]):
        write_items(redis, {parse_item(name) for _, name in rows})
        Owed.objects.filter(pk__in=[pk for pk, _ in rows]).delete()


def write_items(redis: RedisClient, items: set[Item]) -> None:
    """Merge SQL's value of these items into Redis, and add their users to the population."""
    segments = store.read_segments([item for item in items if isinstance(item, DaySegment)])
    months = store.read_months([item for item in items if isinstance(item, LoginMonth)])
    everybody = store.read_dense_ids({DenseIdSegment(POPULATION, item.segment) for item in segments})
    scripts.merge_into_redis(redis, months, everybody, segments)
    removal.apply_removals_of(redis, items)
