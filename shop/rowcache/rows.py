"""The row cache of the sale page: rows of products as JSON in ``inv:<id>``, refreshed every few seconds.

``schedule:`` has the time when each row is due, ``delay:`` its allowed age in seconds. Any number of daemons
(``manage.py rowcache run``, Celery's beat) claim rows that are due; no row is claimed twice at once. A row that is not
refreshed expires after three times its delay, and readers fall back to the product's record, so no outdated stock is
shown for long. Signals could not refresh them: a sale begins and ends without a write.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import orjson
from django.conf import settings

from catalog.mirrors import BookMirror
from common.ids import parse_id
from mirror import Record
from mirror.read import read_from_sql
from mirror.redis import RedisClient, Script, relay_client
from shop import keys
from shop.products.prices import get_price_at
from shop.products.records import load_products, make_product_record

logger = logging.getLogger("shop")

ROWS_PER_CLAIM: Final = 200  # rows per claim
LIFETIME_FACTOR: Final = 3  # lifetime of a row, as a multiple of its delay
BOOK_FIELDS: Final = ("title", "authors", "author_ids", "cover", "design")  # fields of the book in a row

_LUA: Final = Path(__file__).parents[1] / "lua"
_claim_script = Script(_LUA / "rows_claim.lua")
_done_script = Script(_LUA / "rows_done.lua")


class Claim(NamedTuple):
    """Rows that this process has claimed. now: Redis' time. held: their score during the claim."""

    ids: list[str]
    now: float
    held: bytes


def schedule_row(product_id: int, seconds: float, redis: RedisClient | None = None) -> None:
    """Cache a product's row every ``seconds`` from now on. With 0 or less, stop and delete the cached row.

    Raises redis-py's errors.
    """
    schedule_rows({product_id: seconds}, redis)


def schedule_rows(delays: Mapping[int, float], redis: RedisClient | None = None) -> None:
    """Schedule several rows, as ``schedule`` does.

    The delay is written first, because a row that is due without a delay is removed from the schedule.
    """
    redis = redis or relay_client()
    wanted = {str(pk): seconds for pk, seconds in delays.items() if seconds > 0}
    stopped = [str(pk) for pk, seconds in delays.items() if seconds <= 0]
    if wanted:
        seconds, micros = redis.time()
        now = seconds + micros / 1e6
        # The delay before the schedule: a worker stops a row that is due and has no delay.
        redis.zadd(keys.row_delays(), wanted)
        redis.zadd(keys.row_schedule(), dict.fromkeys(wanted, now))
    if stopped:
        redis.zrem(keys.row_delays(), *stopped)
        redis.zrem(keys.row_schedule(), *stopped)
        _delete_rows(stopped, redis)


def cache_due_rows(redis: RedisClient | None = None) -> Claim:
    """Cache the rows that are due, up to ROWS_PER_CLAIM of them. Return the claim.

    Five queries, for any number of rows. Raises redis-py's and Django's errors; the claimed rows are then due again
    after the claim expires.
    """
    redis = redis or relay_client()
    claim = _claim_due_rows(redis)
    if claim.ids:
        delays = _read_delays(claim.ids, redis)
        _stop_rows(claim, [pk for pk in claim.ids if pk not in delays], redis, "they have no delay")
        rows = load_rows([int(pk) for pk in delays if _is_valid_id(pk)], claim.now)
        missing = [pk for pk in delays if pk not in rows]
        if missing:
            redis.zrem(keys.row_delays(), *missing)
        _stop_rows(claim, missing, redis, "there are no such products")
        _write_rows(claim, {pk: delays[pk] for pk in rows}, rows, redis)
    return claim


def _claim_due_rows(redis: RedisClient) -> Claim:
    now, held, *ids = _claim_script(redis, [keys.row_schedule()], [ROWS_PER_CLAIM, settings.SHOP_ROW_CLAIM_SECONDS])
    return Claim([pk.decode(errors="replace") for pk in ids], float(now), held)


def _is_valid_id(member: str) -> bool:
    """Return whether a member of the schedule is a valid id. Anybody with access to Redis may have written it."""
    pk = parse_id(member)
    return bool(pk) and member == str(pk)


def _read_delays(ids: Sequence[str], redis: RedisClient) -> dict[str, float]:
    """Return the delays of these rows, without rows that have none above 0."""
    scores = redis.zmscore(keys.row_delays(), [*ids])
    return {pk: seconds for pk, seconds in zip(ids, scores, strict=True) if seconds and seconds > 0}


def load_rows(ids: Sequence[int], moment: float) -> dict[str, Record]:
    """Return the rows of these products from SQL by id, as stored under ``inv:<id>`` but without the delay.

    moment: seconds since 1970. Times are in seconds since 1970, prices in cents. price: the usual price. now: the price
    at that moment.
    """
    products = load_products(ids)
    with read_from_sql():
        books = BookMirror.get_many(ids)
    rows = {}
    for pk, product in products.items():
        if book := books.get(product.id):
            record = make_product_record(product)
            price = get_price_at(record, moment)
            price_fields = {"now": price.cents, "was": price.was, "ends": price.ends, "cached_at": moment}
            rows[pk] = {**record, **{name: book[name] for name in BOOK_FIELDS}, **price_fields}
    return rows


def _write_rows(claim: Claim, delays: Mapping[str, float], rows: Mapping[str, Record], redis: RedisClient) -> None:
    """Write rows and schedule them again. Rows that were stopped meanwhile are deleted."""
    if not delays:
        return
    pipe = redis.pipeline(transaction=False)
    for pk, seconds in delays.items():
        life = max(1, round(LIFETIME_FACTOR * seconds * 1000))
        # It expires, so that pages read the record again when all workers have stopped.
        pipe.set(keys.cached_row(pk), orjson.dumps({**rows[pk], "delay": seconds}), px=life)
    pipe.execute()
    # The script leaves rows alone whose score has changed during the claim: they were rescheduled or stopped.
    _done_script(redis, [keys.row_schedule()], [claim.held, *(part for pair in delays.items() for part in pair)])
    # After the write: a row that was stopped before it was written would otherwise stay until it expires.
    _delete_rows([*(delays.keys() - _read_delays(list(delays), redis).keys())], redis)


def _stop_rows(claim: Claim, ids: Sequence[str], redis: RedisClient, why: str) -> None:
    """Remove claimed rows from the cache and its schedule, except rows that were rescheduled meanwhile."""
    if not ids:
        return
    logger.warning("Rows are cached no more, for %s: %s", why, ", ".join(ids))
    _done_script(redis, [keys.row_schedule()], [claim.held, *(part for pk in ids for part in (pk, 0))])
    # Only delays of 0 or less, because a delay above 0 has been set since.
    redis.zremrangebyscore(keys.row_delays(), "-inf", 0)
    _delete_rows(ids, redis)


def _delete_rows(ids: Sequence[str], redis: RedisClient) -> None:
    """Delete these rows from the cache."""
    pipe = redis.pipeline(transaction=False)
    for pk in ids:
        pipe.unlink(keys.cached_row(pk))
    if ids:
        pipe.execute()
