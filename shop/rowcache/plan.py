"""Schedule rows because of sales: every few seconds for current sales, every minute for coming ones."""

from collections.abc import Iterator, Mapping
from typing import Final

from django.conf import settings

from common import clock
from mirror.conf import setting
from mirror.redis import RedisClient, relay_client
from shop import keys
from shop.models import SaleItem
from shop.rowcache.rows import schedule_rows

ROWS_PER_BATCH: Final = 500  # rows compared per round trip


def plan_sale_rows(redis: RedisClient | None = None) -> int:
    """Schedule the products of sales and stop those that left them. Return the number of changed rows.

    The previous schedule is remembered. So only the start, the end or a change of a sale has an effect, and manual
    changes between them stay. Concurrent calls are safe. Raises redis-py's and Django's errors.
    """
    redis, wanted = redis or relay_client(), load_wanted_delays()
    changed = 0
    for known in _read_planned_rows(redis):
        over = [pk for pk in known if pk not in wanted]
        if over:
            # Before the memory of it: after a crash in between, the next plan stops these rows again.
            schedule_rows(dict.fromkeys(over, 0.0), redis)
            redis.zrem(keys.sale_row_delays(), *over)
        changed += len(over)
    ids = list(wanted)
    for start in range(0, len(ids), ROWS_PER_BATCH):
        changed += _schedule_changed_rows({pk: wanted[pk] for pk in ids[start : start + ROWS_PER_BATCH]}, redis)
    return changed


def load_wanted_delays() -> dict[int, float]:
    """Return the delay in seconds by product id, for all products in current and coming sales. One query."""
    now, delays = clock.now(), dict[int, float]()
    items = SaleItem.objects.using(setting("DATABASE")).filter(sale__ends_at__gt=now)
    for pk, starts_at in items.values_list("product_id", "sale__starts_at"):
        delay = settings.SHOP_SALE_ROW_SECONDS if starts_at <= now else settings.SHOP_ROW_SECONDS
        delays[pk] = min(delay, delays.get(pk, delay))
    return delays


def _read_planned_rows(redis: RedisClient) -> Iterator[list[int]]:
    """Yield the products that were scheduled because of a sale, in batches. A product may occur twice."""
    cursor = -1
    while cursor != 0:
        cursor, found = redis.zscan(keys.sale_row_delays(), max(cursor, 0), count=ROWS_PER_BATCH)
        yield [int(pk) for pk, _ in found]


def _schedule_changed_rows(wanted: Mapping[int, float], redis: RedisClient) -> int:
    """Schedule those rows that have another delay, and remember it. Return their number."""
    scores = redis.zmscore(keys.sale_row_delays(), [str(pk) for pk in wanted])
    new = {pk: delay for (pk, delay), score in zip(wanted.items(), scores, strict=True) if score != delay}
    if new:
        # Before the memory of it: after a crash in between, the next plan schedules these rows again.
        schedule_rows(new, redis)
        redis.zadd(keys.sale_row_delays(), {str(pk): delay for pk, delay in new.items()})
    return len(new)
