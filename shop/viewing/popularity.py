"""How often books are looked at: ``viewed:``, book id by minus its views, halved every five minutes.

A view n periods ago counts 2^-n, whenever it was that Redis got round to halving: what ``viewed:`` says is a function
of the views in SQL (and of those on their way there), and is rebuilt from them when Redis has lost it.
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

BACKUP: Final = "view"  # the name of the backup that takes views to SQL
ONCE_SECONDS: Final = 1800  # in which a visitor's views of a book count as one
LAST: Final = 25  # books that a visitor saw last
KEPT: Final = 20_000  # books in ``viewed:``, after a halving
TOP: Final = 10_000  # books whose pages are worth keeping ready
# A view of two hours and a half ago: so long the order of what is hardly looked at says anything, and so far back SQL
# is read when Redis has lost it. Halving alone would never end.
SMALLEST_PERIODS: Final = 30
SMALLEST: Final = 0.5**SMALLEST_PERIODS
SQL_VIEWS: Final = 5_000  # the newest, which a page without Redis judges by

_saw = script(Path(__file__).parents[1] / "lua" / "saw.lua")


class Shelf(NamedTuple):
    """Books for the front page. is_viewed: those looked at most lately; else nobody has looked at any, and it is those
    that are read most.
    """

    books: list[BookRecord]
    is_viewed: bool


def saw(digest: str | None, book_id: int, *, visitor: str = "", user_id: int | None = None) -> bool:
    """Note that somebody looks at a book's page: one round trip, and no SQL. Never raises for Redis' sake.

    Returns whether Redis has taken it: what it has not is not counted, for pages go before statistics.

    digest: of their session; "" or None: they have none, and ``visitor`` stands for it. user_id: who it is, if that is
    known; else it is whose session it is.
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
        except NoScriptError:  # all the rest has been done
            _saw(redis, names, arguments)
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("A view was not counted: %s", error)
        return False
    return True


def add_saw(pipe: Any, who: str, book_id: int, user_id: int | None = None) -> tuple[list[str], list[Any]]:
    """Add the one command by which a view is counted; returns its keys and arguments. Redis may not know the script."""
    arguments = [ONCE_SECONDS, book_id, f"{who}|{user_id or ''}|{book_id}|", settings.SHOP_VIEW_PERIOD_SECONDS]
    names = [keys.viewed(), keys.viewed_once(who, book_id), keys.viewed_period(), keys.viewed_marks()]
    _saw.add(pipe, names, arguments)
    return names, arguments


def remember(pipe: Any, digest: str, book_id: int) -> None:
    """Add the book to what this visitor saw last."""
    seen = keys.viewed_by(digest)
    pipe.zadd(seen, {str(book_id): time.time()})
    pipe.zremrangebyrank(seen, 0, -LAST - 1)
    pipe.expire(seen, settings.SESSION_COOKIE_AGE)


def ask_rank(pipe: Any, book_id: int) -> None:
    """Add the one command whose reply says how many books are looked at more than this one (None: it is not at all).

    For ``in_top``. It may be asked on any connection to the state server.
    """
    pipe.zrank(keys.viewed(), str(book_id))


def in_top(rank: int | None) -> bool:
    """Whether the page of a book with this rank is worth keeping ready."""
    return rank is not None and rank < TOP


def rank(book_id: int) -> int | None:
    """How many books are looked at more; None: nobody has looked at it lately, or Redis is away."""
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
    """A view was counted on the way to a book that turned out to be no more: nobody looks at it."""
    if breaker.open():
        return
    try:
        client().zrem(keys.viewed(), str(book_id))
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("A book that is gone is still among those that are looked at: %s", error)


def most_viewed(count: int) -> list[BookRecord]:
    """The books that are looked at most. From Redis, if it is whole: one round trip as long as the same books lead,
    else two; otherwise from SQL.
    """
    return shelf(count).books


def shelf(count: int) -> Shelf:
    """As ``most_viewed``, with what they are: a site nobody looks at has books all the same."""
    books = _by_redis(count)
    if books is None:
        books = in_order(ids := _leaders_by_sql(count), get_books(ids))
    if books:
        return Shelf(books, is_viewed=True)
    return Shelf(find_books().books[:count], is_viewed=False)


_leaders: list[int] = []  # when they were last asked for: most of them still are


def _by_redis(count: int) -> list[BookRecord] | None:
    """None: Redis is away, or does not know all views."""
    guess = _leaders[:]

    def ask(pipe: Any) -> None:
        pipe.get(naming.restored(BACKUP))
        pipe.get(keys.viewed_whole())
        pipe.zrange(keys.viewed(), 0, 2 * count - 1)  # some may be gone
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
    """Whether a marker of the backup is of this life of Redis."""
    try:
        return epoch.trusted(client(), [marker])[0]
    except RedisError:
        return False


def _leaders_by_sql(count: int) -> list[int]:
    """The same by the newest views that SQL knows of, a bounded number of them."""
    now, seconds = clock.now(), settings.SHOP_VIEW_PERIOD_SECONDS
    since = now - timedelta(seconds=SMALLEST_PERIODS * seconds)
    newest = View.objects.using(setting("DATABASE")).filter(seen_at__gt=since).order_by("-seen_at")
    scores: dict[int, float] = defaultdict(float)
    for book_id, seen_at in newest.values_list("book_id", "seen_at")[:SQL_VIEWS]:
        scores[book_id] += 0.5 ** (now.timestamp() // seconds - seen_at.timestamp() // seconds)
    return sorted(scores, key=lambda pk: (-scores[pk], str(pk)))[:count]
