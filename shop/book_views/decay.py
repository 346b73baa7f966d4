"""The maintenance of ``viewed:``: it is trimmed, halved each period, and rebuilt from SQL after Redis has lost it."""

import heapq
import logging
import uuid
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from django.conf import settings
from django.db.models import Count

from mirror.conf import setting
from mirror.read import stamps
from mirror.redis import RedisClient, Script, lease, relay_client
from mirror.visits import consume
from shop import keys
from shop.book_views.popularity import MAX_AGE_PERIODS, MAX_RANKED_BOOKS, MIN_SCORE
from shop.models import View
from shop.visits import views

logger = logging.getLogger("shop")

# A call trims these books in a millisecond; 980,000 at once would block Redis for half a second.
BOOKS_PER_TRIM: Final = 2_000
BOOKS_PER_COMMAND: Final = 1_000  # books written per command

_EPOCH: Final = datetime.fromtimestamp(0, tz=UTC)
_LUA: Final = Path(__file__).parents[1] / "lua"
_rescale_script = Script(_LUA / "rescale.lua")
_begin_script = Script(_LUA / "viewed_begin.lua")
_finish_script = Script(_LUA / "viewed_finish.lua")


class RescaleResult(NamedTuple):
    """The result of a rescale. periods: the halvings, 0 if none was due. removed: books."""

    periods: int
    removed: int


def rescale_popularity(redis: RedisClient | None = None) -> RescaleResult:
    """Trim and halve if it is due. Each period is halved once, with any number of callers and after any crash.

    Views between two slices get more weight, so that they count in full after the halving. Raises redis-py's errors.
    """
    redis, removed = redis or relay_client(), 0
    while True:
        arguments = [settings.SHOP_VIEW_PERIOD_SECONDS, MAX_RANKED_BOOKS, BOOKS_PER_TRIM, repr(MIN_SCORE)]
        periods, gone, more = _rescale_script(redis, [keys.popularity(), keys.popularity_period()], arguments)
        removed += gone
        if not more:
            return RescaleResult(periods, removed)


def is_complete(redis: RedisClient) -> bool:
    """Return whether ``viewed:`` includes all views that SQL has."""
    pipe = redis.pipeline(transaction=False)
    pipe.get(keys.popularity_marker())
    pipe.get(keys.popularity_period())
    pipe.time()
    whole, period, (seconds, _) = pipe.execute()
    # Redis' clock was ahead and has been corrected, so the scores were halved too often.
    if period is not None and int(period) > seconds // settings.SHOP_VIEW_PERIOD_SECONDS + 1:
        return False
    return stamps.are_current(redis, [whole])[0]


def maintain_popularity(redis: RedisClient | None = None) -> RescaleResult:
    """Rebuild the counts if Redis has lost them, and halve them if it is due. Beat starts it every few seconds."""
    redis = redis or relay_client()
    if not is_complete(redis):
        # Two rebuilds at once would be correct, but only the later one would count.
        with lease(redis, "viewed") as mine:
            if mine:
                rebuild_popularity(redis)
    return rescale_popularity(redis)


def rebuild_popularity(redis: RedisClient | None = None) -> bool:
    """Count views again from SQL while new ones arrive. Return whether the counts are complete now.

    They are not if Redis was lost again or another rebuild has started. Redis starts to count from zero at one moment;
    SQL's views from before that moment are then added in one step. Raises redis-py's and Django's errors, and
    RuntimeError inside a transaction.
    """
    redis, token = redis or relay_client(), uuid.uuid4().hex
    # Made before the counts: after a loss of Redis in between, it names the lost server, and readers refuse it.
    stamp = stamps.make(redis)
    names = [keys.popularity(), keys.popularity_period(), keys.popularity_rebuild_token(), keys.popularity_marker()]
    micros, period = _begin_script(redis, names, [settings.SHOP_VIEW_PERIOD_SECONDS, token])
    # Views from before that moment that SQL does not have yet.
    consume(views, redis=redis)
    _write_sql_scores(redis, keys.popularity_from_sql(token), _EPOCH + timedelta(microseconds=int(micros)))
    # The token refuses this result if another rebuild has reset the counts meanwhile.
    return bool(_finish_script(redis, [*names, keys.popularity_from_sql(token)], [token, period, stamp]))


def _write_sql_scores(redis: RedisClient, before: str, until: datetime) -> None:
    """Write SQL's counts from before ``until`` into a separate key."""
    best = iter(heapq.nlargest(MAX_RANKED_BOOKS, compute_scores_from_sql(until).items(), key=lambda item: item[1]))
    while chunk := dict(islice(best, BOOKS_PER_COMMAND)):
        redis.zadd(before, {str(pk): -score for pk, score in chunk.items()})
        # A killed rebuild leaves this key behind.
        redis.expire(before, 3600)


def compute_scores_from_sql(until: datetime) -> dict[int, float]:
    """Return the scores at ``until`` by book, from the views before it. One query per period.

    A view counts 1 in its own period, and half as much with each later one.
    """
    scores: dict[int, float] = defaultdict(float)
    seconds = settings.SHOP_VIEW_PERIOD_SECONDS
    last = int(until.timestamp()) // seconds  # periods are numbered from 1970 on
    for period in range(last - MAX_AGE_PERIODS, last + 1):
        start = datetime.fromtimestamp(period * seconds, tz=UTC)
        end = min(until, start + timedelta(seconds=seconds))
        views = View.objects.using(setting("DATABASE")).filter(seen_at__gte=start, seen_at__lt=end)
        weight = 0.5 ** (last - period)
        for pk, count in views.values_list("book_id").annotate(Count("pk")).order_by():
            scores[pk] += count * weight
    return {pk: score for pk, score in scores.items() if score >= MIN_SCORE}
