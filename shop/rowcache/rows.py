"""The row cache of the sale page: rows of products as JSON in ``inv:<id>``, each anew every few seconds.

``schedule:`` says when a row is due, ``delay:`` how many seconds it may be old. Any number of daemons (``manage.py
rowcache run``, Celery's beat) take from the schedule what is due; nobody takes what another one has. What nobody writes
any more is gone after three times its delay, and then who reads asks elsewhere: no stock is shown that stands still.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from django.conf import settings

from catalog.selectors import LARGEST_ID
from mirror.declare import Record
from mirror.redis import relay_client
from mirror.scripts import Script
from shop import keys
from shop.books import books_by_sql
from shop.prices import price_at
from shop.records import load_products, product_record

logger = logging.getLogger("shop")

TOGETHER: Final = 200  # rows that are claimed at once
LIVES: Final = 3  # delays that a row lives
OF_BOOK: Final = ("title", "authors", "author_ids")  # what a row says of its book
LONGEST_ID: Final = len(str(LARGEST_ID))

_LUA: Final = Path(__file__).parents[1] / "lua"
_claim = Script(_LUA / "rows_claim.lua")
_done = Script(_LUA / "rows_done.lua")


class Claim(NamedTuple):
    """Rows that are ours for a while. now: Redis' time. held: what they are scored with meanwhile."""

    ids: list[str]
    now: float
    held: bytes


def schedule(product_id: int, seconds: float, redis: Any = None) -> None:
    """Have a product's row cached from now on, every so many seconds; 0 or less: no more, and what is cached goes.

    Raises redis-py's errors.
    """
    schedule_all({product_id: seconds}, redis)


def schedule_all(delays: Mapping[int, float], redis: Any = None) -> None:
    """As ``schedule``, for several. The delay is written first: a row that is due without one is never again."""
    redis = redis or relay_client()
    wanted = {str(pk): seconds for pk, seconds in delays.items() if seconds > 0}
    stopped = [str(pk) for pk, seconds in delays.items() if seconds <= 0]
    if wanted:
        seconds, micros = redis.time()
        now = seconds + micros / 1e6
        redis.zadd(keys.delay(), wanted)
        redis.zadd(keys.schedule(), dict.fromkeys(wanted, now))
    if stopped:
        redis.zrem(keys.delay(), *stopped)
        redis.zrem(keys.schedule(), *stopped)
        _take_away(stopped, redis)


def cache_due(redis: Any = None) -> Claim:
    """Cache the rows that are due now (so many at most). Returns what was claimed.

    Five queries, however many. Raises redis-py's and Django's errors; what was claimed is due again after a while.
    """
    redis = redis or relay_client()
    claim = _claimed(redis)
    if claim.ids:
        delays = _delays(claim.ids, redis)
        _stop(claim, [pk for pk in claim.ids if pk not in delays], redis, "they have no delay")
        rows = load_rows([int(pk) for pk in delays if _is_possible(pk)], claim.now)
        missing = [pk for pk in delays if pk not in rows]
        if missing:
            redis.zrem(keys.delay(), *missing)
        _stop(claim, missing, redis, "there are no such products")
        _write(claim, {pk: delays[pk] for pk in rows}, rows, redis)
    return claim


def _claimed(redis: Any) -> Claim:
    now, held, *ids = _claim(redis, [keys.schedule()], [TOGETHER, settings.SHOP_ROW_CLAIM_SECONDS])
    return Claim([pk.decode(errors="replace") for pk in ids], float(now), held)


def _is_possible(member: str) -> bool:
    """Whether a member of the schedule, which anybody may write, can be the id of a row."""
    is_number = len(member) <= LONGEST_ID and member.isascii() and member.isdecimal()
    return is_number and 0 < int(member) <= LARGEST_ID and member == str(int(member))


def _delays(ids: Sequence[str], redis: Any) -> dict[str, float]:
    """The delays of these rows; what has none (or none above 0) is left out."""
    scores = redis.zmscore(keys.delay(), ids)
    return {pk: seconds for pk, seconds in zip(ids, scores, strict=True) if seconds and seconds > 0}


def load_rows(ids: Sequence[int], moment: float) -> dict[str, Record]:
    """What SQL says of these products, by id, as ``inv:<id>`` has it (but for the delay). moment: seconds since 1970.

    Times in seconds since 1970, prices in cents. price: the usual one; now: what one costs at that moment.
    """
    products, books = load_products(ids), books_by_sql(ids) if ids else {}
    rows = {}
    for pk, product in products.items():
        if book := books.get(product.id):
            record = product_record(product)
            price = price_at(record, moment)
            said = {"now": price.cents, "was": price.was, "ends": price.ends, "cached_at": moment}
            rows[pk] = {**record, **{name: book[name] for name in OF_BOOK}, **said}
    return rows


def _write(claim: Claim, delays: Mapping[str, float], rows: Mapping[str, Record], redis: Any) -> None:
    """Write these rows, and say when they are due next. What was stopped meanwhile goes again."""
    if not delays:
        return
    pipe = redis.pipeline(transaction=False)
    for pk, seconds in delays.items():
        life = max(1, round(LIVES * seconds * 1000))
        pipe.set(keys.row(pk), orjson.dumps({**rows[pk], "delay": seconds}), px=life)
    pipe.execute()
    _done(redis, [keys.schedule()], [claim.held, *(part for pair in delays.items() for part in pair)])
    _take_away([*(delays.keys() - _delays(list(delays), redis).keys())], redis)


def _stop(claim: Claim, ids: Sequence[str], redis: Any, why: str) -> None:
    """Take claimed rows out of everything; what somebody has scheduled anew meanwhile stays."""
    if not ids:
        return
    logger.warning("Rows are cached no more, for %s: %s", why, ", ".join(ids))
    _done(redis, [keys.schedule()], [claim.held, *(part for pk in ids for part in (pk, 0))])
    redis.zremrangebyscore(keys.delay(), "-inf", 0)
    _take_away(ids, redis)


def _take_away(ids: Sequence[str], redis: Any) -> None:
    """Take away what is cached of these rows."""
    pipe = redis.pipeline(transaction=False)
    for pk in ids:
        pipe.unlink(keys.row(pk))
    if ids:
        pipe.execute()
