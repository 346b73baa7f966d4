"""Writes to Redis that were missed while it was away."""

import logging
from typing import Any, Final

from loginlog import erasure, scripts, store, unmarking
from loginlog.items import POPULATION, Item, Month, Numbers, Segment, parse
from loginlog.models import Owed
from mirror.lease import lease
from mirror.redis import RedisError, is_away, relay_client

logger = logging.getLogger("loginlog")

STEP: Final = 500  # rows per query


def settle(redis: Any = None) -> bool:
    """Clear erased users and removed logins in Redis, and write the bitmaps that it lacks. Return whether this ran.

    Beat runs this every few seconds. Nothing happens while Redis is away or another process holds the lease.
    """
    redis = redis or relay_client()
    try:
        with lease(redis, "loginlog:settle") as mine:
            if mine:
                erasure.clean_all(redis)
                unmarking.clean_all(redis)
                pay(redis)
            return mine
    except RedisError as error:
        if not is_away(error):
            raise
        logger.warning("Redis is away, the login log waits: %s", error)
        return False


def pay(redis: Any) -> None:
    """Write the bitmaps to Redis that were written to SQL alone. Delete exactly the rows that were read before."""
    while rows := list(Owed.objects.order_by("pk").values_list("pk", "item")[:STEP]):
        put(redis, {parse(name) for _, name in rows})
        Owed.objects.filter(pk__in=[pk for pk, _ in rows]).delete()


def put(redis: Any, items: set[Item]) -> None:
    """Merge SQL's value of these items into Redis, and add their users to the population."""
    segments = store.segments([item for item in items if isinstance(item, Segment)])
    months = store.months([item for item in items if isinstance(item, Month)])
    everybody = store.numbers({Numbers(POPULATION, item.segment) for item in segments})
    scripts.put(redis, months, everybody, segments)
    unmarking.clean_items(redis, items)
