"""Which rows are cached because of a sale: those on sale every few seconds, those of sales to come every minute."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.conf import settings

from config import clock
from mirror.conf import setting
from mirror.redis import relay_client
from shop import keys
from shop.models import SaleItem
from shop.rowcache.rows import schedule_all

STEP: Final = 500  # rows that are compared together


def plan(redis: Any = None) -> int:
    """Schedule what is in a sale, and stop what no longer is. Returns how many rows that changed.

    Remembers what it has scheduled, and how: so it does something when a sale begins, ends or changes, and leaves alone
    what somebody changes by hand in between. Two at once do no harm. Raises redis-py's and Django's errors.
    """
    redis, wanted = redis or relay_client(), delays_wanted()
    changed = 0
    for known in _remembered(redis):
        over = [pk for pk in known if pk not in wanted]
        if over:
            schedule_all(dict.fromkeys(over, 0.0), redis)
            redis.zrem(keys.rows_of_sales(), *over)
        changed += len(over)
    ids = list(wanted)
    for start in range(0, len(ids), STEP):
        changed += _remember({pk: wanted[pk] for pk in ids[start : start + STEP]}, redis)
    return changed


def delays_wanted() -> dict[int, float]:
    """Seconds by the ids of all products in sales that are on or to come: one query."""
    now, delays = clock.now(), dict[int, float]()
    items = SaleItem.objects.using(setting("DATABASE")).filter(sale__ends_at__gt=now)
    for pk, starts_at in items.values_list("product_id", "sale__starts_at"):
        delay = settings.SHOP_SALE_ROW_SECONDS if starts_at <= now else settings.SHOP_ROW_SECONDS
        delays[pk] = min(delay, delays.get(pk, delay))
    return delays


def _remembered(redis: Any) -> Iterator[list[int]]:
    """What was scheduled because of a sale, some at a time; some may come twice."""
    cursor = -1
    while cursor != 0:
        cursor, found = redis.zscan(keys.rows_of_sales(), max(cursor, 0), count=STEP)
        yield [int(pk) for pk, _ in found]


def _remember(wanted: Mapping[int, float], redis: Any) -> int:
    """Schedule those of these rows that are not scheduled like that, and remember it. Returns how many."""
    scores = redis.zmscore(keys.rows_of_sales(), [str(pk) for pk in wanted])
    new = {pk: delay for (pk, delay), score in zip(wanted.items(), scores, strict=True) if score != delay}
    if new:
        schedule_all(new, redis)
        redis.zadd(keys.rows_of_sales(), {str(pk): delay for pk, delay in new.items()})
    return len(new)
