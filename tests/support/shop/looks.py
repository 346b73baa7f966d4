"""What the tests of views share: looks, and what the popularity of books is by the plainest formula."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from django.conf import settings
from redis import Redis

from config.settings_shop import SHOP_VIEW_PERIOD_SECONDS
from mirror.backup import registry
from mirror.backup.flush import flush
from shop import keys
from shop.models import View
from shop.viewing import popularity

PERIOD: Final = SHOP_VIEW_PERIOD_SECONDS  # of the site: tests have longer ones


def scores(redis: Redis) -> dict[int, float]:
    """What Redis says of each book: how much it is looked at."""
    found: list[tuple[bytes, float]] = redis.zrange(keys.viewed(), 0, -1, withscores=True)  # type: ignore[assignment]
    return {int(pk): -score for pk, score in found}


def seen_by(redis: Redis, digest: str) -> list[int]:
    """The books in somebody's list, the latest first."""
    found: list[bytes] = redis.zrevrange(keys.viewed_by(digest), 0, -1)  # type: ignore[assignment]
    return [int(pk) for pk in found]


def to_sql() -> None:
    """Take to SQL what is marked."""
    flush(registry.get("view"))


def marked(redis: Redis) -> int:
    """How many views SQL does not have yet."""
    return int(redis.zcard(keys.viewed_marks()))


def half_an_hour_later(redis: Redis) -> None:
    """Nobody remembers whom it has counted."""
    start = keys.viewed_once("", "").removesuffix(":")
    for name in list(redis.scan_iter(match=f"{start}*", count=1000)):
        redis.delete(name)


def by_formula(looks: Iterable[tuple[int, int]], now: int) -> dict[int, float]:
    """Books and the periods in which each was looked at -> what they count in the period ``now``."""
    found: dict[int, float] = defaultdict(float)
    for (book, period), count in Counter(looks).items():
        found[book] += count * 0.5 ** (now - period)
    return {book: score for book, score in found.items() if score >= popularity.SMALLEST}


def looks_in_sql() -> list[tuple[int, int]]:
    """What SQL has, as ``by_formula`` wants it."""
    rows = View.objects.values_list("book_id", "seen_at")
    return [(book, int(seen_at.timestamp() // settings.SHOP_VIEW_PERIOD_SECONDS)) for book, seen_at in rows]


def period_of(redis: Redis) -> int:
    """The period for which Redis' scores are right."""
    return int(redis.get(keys.viewed_period()))  # type: ignore[arg-type]
