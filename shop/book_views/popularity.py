"""The popularity of books: ``viewed:`` has book ids by negated score, halved every five minutes.

A view n periods ago counts 2^-n, no matter when Redis was halved. So the scores are a function of the views in SQL and
those that wait in the stream of visits, and can be rebuilt from them after Redis has lost data. Counting in SQL for
each page would be a GROUP BY over hours of views. A halving cannot be undone: scores of a period that is more than one
ahead of the clock are computed again.
"""

import logging
import time
from collections import defaultdict
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from django.conf import settings
from redis.exceptions import NoScriptError

from catalog.listing import BookRecord
from catalog.mirrors import BookMirror
from catalog.selectors import find_books
from common import clock
from mirror import AskSql, Question, answer
from mirror.conf import database
from mirror.read import stamps
from mirror.redis import RedisClient, RedisPipeline, client, quick, try_redis
from mirror.visits import script
from shop import keys
from shop.catalog_hooks.extras import get_card_products
from shop.models import View
from shop.products.results import ProductRecord
from shop.selectors.books import order_books
from shop.selectors.products import get_products_and_books
from shop.visits import views

logger = logging.getLogger("shop")

ONCE_SECONDS: Final = 1800  # period in which a visitor's views of a book count once
MAX_LAST_VIEWED: Final = 25  # last viewed books per visitor
MAX_RANKED_BOOKS: Final = 20_000  # books that a halving leaves in ``viewed:``
MAX_CACHED_RANK: Final = 10_000  # books with cached pages
# The score of one view two and a half hours ago. Smaller scores are dropped, because halving alone never reaches zero,
# and a rebuild reads SQL no further back.
MAX_AGE_PERIODS: Final = 30
MIN_SCORE: Final = 0.5**MAX_AGE_PERIODS
SPARE_BOOKS: Final = 8  # read beyond those that are asked for, because some may be deleted
MAX_SQL_VIEWS: Final = 5_000  # newest views that a page reads while Redis is away

_count_script = script(Path(__file__).parents[1] / "lua" / "saw.lua")


class PopularBooks(NamedTuple):
    """Books for the front page. is_viewed: they are the most viewed; otherwise there are no recent views, and they are
    the most read. products: those of the books, by id.
    """

    books: list[BookRecord]
    is_viewed: bool
    products: dict[int, ProductRecord]


def count_view(digest: str | None, book_id: int, *, visitor: str = "", user_id: int | None = None) -> bool:
    """Count a view of a book. One round trip and no SQL. Never raises Redis errors.

    Return whether Redis has counted it. A view that Redis does not take is dropped, and the metrics count it: pages
    are more important than statistics. digest: of the session; without one, ``visitor`` stands in for it. user_id: the
    user if known, otherwise the session's user.
    """
    who = digest or visitor

    def count(redis: RedisClient) -> bool:
        pipe = redis.pipeline(transaction=False)
        names, arguments = queue_count(pipe, who, book_id, user_id)
        if digest:
            queue_last_viewed(pipe, digest, book_id)
        try:
            quick.execute(pipe)
        # All other commands of the pipeline have run, so only the script is sent again.
        except NoScriptError:
            _count_script(redis, names, arguments)
        return True

    return bool(who) and try_redis(count, _drop_view, logger, "A view was not counted: %s")


def _drop_view() -> bool:
    views.count_dropped("unavailable")
    return False


def queue_count(pipe: RedisPipeline, who: str, book_id: int, user_id: int | None = None) -> tuple[list[str], list[Any]]:
    """Queue the command that counts a view. Return its keys and arguments. Redis may not know the script."""
    period = settings.SHOP_VIEW_PERIOD_SECONDS
    arguments = [ONCE_SECONDS, period, views.length, who, user_id or "", book_id]
    names = [keys.popularity(), keys.counted_view(who, book_id), keys.popularity_period(), *views.keys]
    _count_script.add(pipe, names, arguments)
    return names, arguments


def queue_last_viewed(pipe: RedisPipeline, digest: str, book_id: int) -> None:
    """Queue the commands that add a book to the visitor's last viewed books."""
    seen = keys.last_viewed(digest)
    pipe.zadd(seen, {str(book_id): time.time()})
    pipe.zremrangebyrank(seen, 0, -MAX_LAST_VIEWED - 1)
    # The list lives as long as the session, and needs no clean-up of its own.
    pipe.expire(seen, settings.SESSION_COOKIE_AGE)


def queue_rank(pipe: RedisPipeline, book_id: int) -> None:
    """Queue the command that reads the rank of a book, for ``is_popular``: the number of more popular books, or None.

    Any connection to the state server will do.
    """
    pipe.zrank(keys.popularity(), str(book_id))


def is_popular(rank: int | None) -> bool:
    """Return whether a book with this rank has a cached page."""
    return rank is not None and rank < MAX_CACHED_RANK


def get_rank(book_id: int) -> int | None:
    """Return the number of more popular books, or None if the book has no recent views or Redis is away."""
    found = try_redis(lambda redis: redis.zrank(keys.popularity(), str(book_id)), lambda: None, warning="")
    return cast("int | None", found)  # a list only with withscore=True


def forget_book(book_id: int) -> None:
    """Remove a deleted book from the popular ones, after a view of its page was counted ahead."""
    try_redis(
        lambda redis: redis.zrem(keys.popularity(), str(book_id)),
        lambda: None,
        logger,
        "A book that is gone is still among those that are looked at: %s",
    )


def get_popular_books(count: int) -> PopularBooks:
    """Return the most viewed books, or the most read ones on a site without recent views.

    If Redis has complete counts: 2 round trips, and none if they were read ahead.
    Otherwise SQL answers.
    """
    ids = answer(_ask_for_leaders(count))
    products, found = get_products_and_books(ids)
    if books := order_books(ids, found)[:count]:
        return PopularBooks(books, is_viewed=True, products=products)
    most_read = find_books(is_brief=True)
    return PopularBooks(most_read.books[:count], is_viewed=False, products=get_card_products(most_read))


def get_viewed_books(count: int) -> list[BookRecord]:
    """Return the most viewed books, for a part that a page can do without.

    2 round trips, and none if they were read ahead. Without complete counts in Redis there are no books.
    """
    ids = answer(_ask_for_leaders(count, is_optional=True))
    return order_books(ids, BookMirror.get_many(ids))[:count]


def _ask_for_leaders(count: int, *, is_optional: bool = False) -> Question[list[int]]:
    """Return the question for the ids of the most viewed books, and of some more.

    is_optional: the answer is empty where only SQL has it.
    """

    def ask(pipe: RedisPipeline) -> None:
        pipe.get(keys.popularity_marker())
        pipe.zrange(keys.popularity(), 0, count + SPARE_BOOKS - 1)

    def decode(replies: list[Any]) -> list[int]:
        stamp, ids = replies
        if not try_redis(
            lambda redis: stamps.are_current(redis, [stamp])[0], lambda: False, warning="", redis=client()
        ):
            # The counts are incomplete.
            if is_optional:
                return []
            raise AskSql
        return [int(pk) for pk in ids]

    load = list[int] if is_optional else partial(_load_leaders_from_sql, count + SPARE_BOOKS)
    return Question(["book"], ask, decode, load)


def _load_leaders_from_sql(count: int) -> list[int]:
    """Return the most viewed books from a bounded number of the newest views in SQL."""
    now, seconds = clock.now(), settings.SHOP_VIEW_PERIOD_SECONDS
    since = now - timedelta(seconds=MAX_AGE_PERIODS * seconds)
    # Bounded: a busy hour has millions of views, and the newest count most.
    newest = View.objects.using(database()).filter(seen_at__gt=since).order_by("-seen_at")
    scores: dict[int, float] = defaultdict(float)
    for book_id, seen_at in newest.values_list("book_id", "seen_at")[:MAX_SQL_VIEWS]:
        scores[book_id] += 0.5 ** (now.timestamp() // seconds - seen_at.timestamp() // seconds)
    return sorted(scores, key=lambda pk: (-scores[pk], str(pk)))[:count]
