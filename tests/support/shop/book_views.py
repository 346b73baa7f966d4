"""Helpers shared by the tests of views, with a plain formula for the popularity of books."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from django.conf import settings
from redis import Redis

from config.defaults.shop import SHOP_VIEW_PERIOD_SECONDS
from mirror.visits import consume
from shop import keys
from shop.book_views import popularity
from shop.models import View
from shop.visits import views

PERIOD: Final = SHOP_VIEW_PERIOD_SECONDS  # of the site; the test settings have longer periods


def read_scores(redis: Redis) -> dict[int, float]:
    """Return the popularity of each book in Redis."""
    found: list[tuple[bytes, float]] = redis.zrange(keys.popularity(), 0, -1, withscores=True)
    return {int(pk): -score for pk, score in found}


def read_viewed_books(redis: Redis, digest: str) -> list[int]:
    """Return the ids of the books that a visitor viewed, latest first."""
    found: list[bytes] = redis.zrevrange(keys.last_viewed(digest), 0, -1)
    return [int(pk) for pk in found]


def consume_views() -> int:
    """Write the waiting views to SQL. Return the number of removed entries."""
    return consume(views)


def count_unsaved_views(redis: Redis) -> int:
    """Return the number of views that SQL does not have yet."""
    return int(redis.xlen(views.keys[0]))


def forget_counted_views(redis: Redis) -> None:
    """Delete the keys that prevent a repeated view from counting again; they expire after half an hour."""
    start = keys.counted_view("", "").removesuffix(":")
    for name in list(redis.scan_iter(match=f"{start}*", count=1000)):
        redis.delete(name)


def expected_scores(looks: Iterable[tuple[int, int]], now: int) -> dict[int, float]:
    """Return the popularity of each book in the period ``now``, computed from (book id, period) views."""
    found: dict[int, float] = defaultdict(float)
    for (book, period), count in Counter(looks).items():
        found[book] += count * 0.5 ** (now - period)
    return {book: score for book, score in found.items() if score >= popularity.MIN_SCORE}


def views_in_sql() -> list[tuple[int, int]]:
    """Return the views in SQL as (book id, period), the input of ``expected_scores``."""
    rows = View.objects.values_list("book_id", "seen_at")
    return [(book, int(seen_at.timestamp() // settings.SHOP_VIEW_PERIOD_SECONDS)) for book, seen_at in rows]


def read_period(redis: Redis) -> int:
    """Return the period to which the scores in Redis refer."""
    return int(redis.get(keys.popularity_period()))  # type: ignore[arg-type]
