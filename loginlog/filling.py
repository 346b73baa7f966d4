"""Redis gets what only SQL has, because it was away when it was written."""

import logging
from typing import Any, Final

from loginlog import erasure, scripts, store, unmarking
from loginlog.items import POPULATION, Item, Month, Numbers, Segment, parse
from loginlog.models import Owed
from mirror.lease import lease
from mirror.redis import RedisError, is_away, relay_client

logger = logging.getLogger("loginlog")

STEP: Final = 500  # rows at a time


def settle(redis: Any = None) -> bool:
    """Wipe what is left of erased users and removed logins, and bring Redis what it is owed. Returns whether all is
    settled.

    Beat asks every few seconds; while Redis is away, or somebody else is at it, nothing happens.
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
    """Bring Redis the bitmaps that were written to SQL alone. Exactly the rows that were read before are deleted."""
    while rows := list(Owed.objects.order_by("pk").values_list("pk", "item")[:STEP]):
        put(redis, {parse(name) for _, name in rows})
        Owed.objects.filter(pk__in=[pk for pk, _ in rows]).delete()


def put(redis: Any, items: set[Item]) -> None:
    """Bring Redis what SQL says of these, and their users into the population."""
    segments = store.segments([item for item in items if isinstance(item, Segment)])
    months = store.months([item for item in items if isinstance(item, Month)])
    everybody = store.numbers({Numbers(POPULATION, item.segment) for item in segments})
    scripts.put(redis, months, everybody, segments)
    unmarking.clean_items(redis, items)
