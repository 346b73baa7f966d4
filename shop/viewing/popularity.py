"""The popularity of books: ``viewed:`` has book ids by negated score, halved every five minutes.

A view n periods ago counts 2^-n, no matter when Redis was halved. So the scores are a function of the views in SQL and
those not flushed yet, and can be rebuilt from them after Redis has lost data.
"""

import logging
import time
from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from django.conf import settings
from redis.exceptions import NoScriptError

from catalog.results import BookRecord
from catalog.selectors import find_books
from config import clock
from mirror import naming, quick
from mirror.backup import epoch, script
from mirror.conf import setting
from mirror.read import read
from mirror.redis import RedisError, breaker, client, is_away
from shop import keys
from shop.books import ask_books, books_said, get_books, in_order
from shop.models import View

logger = logging.getLogger("shop")

BACKUP: Final = "view"  # the name of the backup of views
ONCE_SECONDS: Final = 1800  # period in which a visitor's views of a book count once
LAST: Final = 25  # last viewed books per visitor
KEPT: Final = 20_000  # books that a halving leaves in ``viewed:``
TOP: Final = 10_000  # books with cached pages
# The score of one view two and a half hours ago. Smaller scores are dropped, because halving alone never reaches zero,
# and a rebuild reads SQL no further back.
SMALLEST_PERIODS: Final = 30
SMALLEST: Final = 0.5**SMALLEST_PERIODS
SQL_VIEWS: Final = 5_000  # newest views that a page reads while Redis is away

_saw = script(Path(__file__).parents[1] / "lua" / "saw.lua")


class Shelf(NamedTuple):
    """Books for the front page. is_viewed: they are the most viewed; otherwise there are no recent views, and they are
    the most read.
    """

    books: list[BookRecord]
    is_viewed: bool


def saw(digest: str | None, book_id: int, *, visitor: str = "", user_id: int | None = None) -> bool:
    """Count a view of a book. One round trip and no SQL. Never raises Redis errors.

    Return whether Redis has counted it. A view that Redis does not take is lost: pages are more important than
    statistics. digest: of the session; without one, ``visitor`` stands in for it. user_id: the user if known, otherwise
    the session's user.
    """
    who = digest or visitor
    if not who or breaker.open():
        return False
    redis = client()
    pipe = redis.pipeline(transaction=False)
    names, arguments = add_saw(pipe, who, book_id, user_id)
    if digest:
        remember(pipe, digest, book_id)
    try:
        try:
            quick.execute(pipe)
        except NoScriptError:  # all other commands have run
            _saw(redis, names, arguments)
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("A view was not counted: %s", error)
        return False
    return True


def add_saw(pipe: Any, who: str, book_id: int, user_id: int | None = None) -> tuple[list[str], list[Any]]:
    """Queue the command that counts a view. Return its keys and arguments. Redis may not know the script."""
    arguments = [ONCE_SECONDS, book_id, f"{who}|{user_id or ''}|{book_id}|", settings.SHOP_VIEW_PERIOD_SECONDS]
    names = [keys.viewed(), keys.viewed_once(who, book_id), keys.viewed_period(), keys.viewed_marks()]
    _saw.add(pipe, names, arguments)
    return names, arguments


def remember(pipe: Any, digest: str, book_id: int) -> None:
    """Queue the commands that add a book to the visitor's last viewed books."""
    seen = keys.viewed_by(digest)
    pipe.zadd(seen, {str(book_id): time.time()})
    pipe.zremrangebyrank(seen, 0, -LAST - 1)
    pipe.expire(seen, settings.SESSION_COOKIE_AGE)


def ask_rank(pipe: Any, book_id: int) -> None:
    """Queue the command that reads the rank of a book, for ``in_top``: the number of more popular books, or None.

    Any connection to the state server will do.
    """
    pipe.zrank(keys.viewed(), str(book_id))


def in_top(rank: int | None) -> bool:
    """Return whether a book with this rank has a cached page."""
    return rank is not None and rank < TOP


def rank(book_id: int) -> int | None:
    """Return the number of more popular books, or None if the book has no recent views or Redis is away."""
    if breaker.open():
        return None
    try:
        found: Any = client().zrank(keys.viewed(), str(book_id))
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        return None
    return None if found is None else int(found)


def gone(book_id: int) -> None:
    """Remove a deleted book from the popular ones, after a view of its page was counted ahead."""
    if breaker.open():
        return
    try:
        client().zrem(keys.viewed(), str(book_id))
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("A book that is gone is still among those that are looked at: %s", error)


def most_viewed(count: int) -> list[BookRecord]:
    """Return the most viewed books.

    If Redis has complete counts, it takes one round trip if the same books lead as last time, else two. Otherwise SQL
    answers.
    """
    return shelf(count).books


def shelf(count: int) -> Shelf:
    """Return the most viewed books, or the most read ones on a site without recent views."""
    books = _by_redis(count)
    if books is None:
        books = in_order(ids := _leaders_by_sql(count), get_books(ids))
    if books:
        return Shelf(books, is_viewed=True)
    return Shelf(find_books().books[:count], is_viewed=False)


_leaders: list[int] = []  # the leaders of the last call, which are likely to lead again


def _by_redis(count: int) -> list[BookRecord] | None:
    """Return the most viewed books, or None if Redis is away or its counts are incomplete."""
    guess = _leaders[:]

    def ask(pipe: Any) -> None:
        pipe.get(naming.restored(BACKUP))
        pipe.get(keys.viewed_whole())
        pipe.zrange(keys.viewed(), 0, 2 * count - 1)  # more than needed, because some may be deleted
        ask_books(pipe, guess)

    reading = read(["book"], ask)
    if reading is None:
        return None
    restored, whole, found, raws = reading.replies
    if whole is None or whole != restored or not _is_trusted(restored):
        return None
    _leaders[:] = ids = [int(pk) for pk in found]
    books = books_said(guess, raws)
    if unknown := [pk for pk in ids if pk not in guess]:
        books |= get_books(unknown)
    return in_order(ids, books)[:count]


def _is_trusted(marker: bytes) -> bool:
    """Return whether a marker of the backup belongs to this incarnation of Redis."""
    try:
        return epoch.trusted(client(), [marker])[0]
    except RedisError:
        return False


def _leaders_by_sql(count: int) -> list[int]:
    """Return the most viewed books from a bounded number of the newest views in SQL."""
    now, seconds = clock.now(), settings.SHOP_VIEW_PERIOD_SECONDS
    since = now - timedelta(seconds=SMALLEST_PERIODS * seconds)
    newest = View.objects.using(setting("DATABASE")).filter(seen_at__gt=since).order_by("-seen_at")
    scores: dict[int, float] = defaultdict(float)
    for book_id, seen_at in newest.values_list("book_id", "seen_at")[:SQL_VIEWS]:
        scores[book_id] += 0.5 ** (now.timestamp() // seconds - seen_at.timestamp() // seconds)
    return sorted(scores, key=lambda pk: (-scores[pk], str(pk)))[:count]
