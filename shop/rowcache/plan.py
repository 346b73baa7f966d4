"""Schedule rows because of sales: every few seconds for current sales, every minute for coming ones."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.conf import settings

from config import clock
from mirror.conf import setting
from mirror.redis import relay_client
from shop import keys
from shop.models import SaleItem
from shop.rowcache.rows import schedule_all

STEP: Final = 500  # rows compared per round trip


def plan(redis: Any = None) -> int:
    """Schedule the products of sales and stop those that left them. Return the number of changed rows.

    The previous schedule is remembered. So only the start, the end or a change of a sale has an effect, and manual
    changes between them stay. Concurrent calls are safe. Raises redis-py's and Django's errors.
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
    """Return the delay in seconds by product id, for all products in current and coming sales. One query."""
    now, delays = clock.now(), dict[int, float]()
    items = SaleItem.objects.using(setting("DATABASE")).filter(sale__ends_at__gt=now)
    for pk, starts_at in items.values_list("product_id", "sale__starts_at"):
        delay = settings.SHOP_SALE_ROW_SECONDS if starts_at <= now else settings.SHOP_ROW_SECONDS
        delays[pk] = min(delay, delays.get(pk, delay))
    return delays


def _remembered(redis: Any) -> Iterator[list[int]]:
    """Yield the products that were scheduled because of a sale, in batches. A product may occur twice."""
    cursor = -1
    while cursor != 0:
        cursor, found = redis.zscan(keys.rows_of_sales(), max(cursor, 0), count=STEP)
        yield [int(pk) for pk, _ in found]


def _remember(wanted: Mapping[int, float], redis: Any) -> int:
    """Schedule those rows that have another delay, and remember it. Return their number."""
    scores = redis.zmscore(keys.rows_of_sales(), [str(pk) for pk in wanted])
    new = {pk: delay for (pk, delay), score in zip(wanted.items(), scores, strict=True) if score != delay}
    if new:
        schedule_all(new, redis)
        redis.zadd(keys.rows_of_sales(), {str(pk): delay for pk, delay in new.items()})
    return len(new)
