"""Who looked at which book: what a request says of it, and what a visitor saw last."""

import hmac
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest

from accounts import ratelimit
from catalog.results import BookRecord
from config import clock
from mirror import naming
from mirror.backup import epoch
from mirror.conf import setting
from mirror.read import read
from mirror.redis import RedisError, breaker, client, is_away
from shop import keys
from shop.books import get_books, in_order
from shop.models import View
from shop.viewing import popularity
from shop.viewing.popularity import BACKUP, LAST, logger
from shop.visitors import digest_of

SQL_ROWS: Final = 100  # of a visitor, among which SQL finds the last books: who comes back to one has several
MOST: Final = 100  # keys in one round trip
_BOTS: Final = re.compile(r"bot\b|crawl|spider|slurp|preview|scrapy|monitor|externalhit|archiver", re.IGNORECASE)


def record(request: HttpRequest, book_id: int) -> None:
    """Note that a request looks at a book's page, if there is anybody who looks. The book exists. Never raises for
    Redis' sake.
    """
    if not counts(request):
        return
    if digest := digest_of(request):
        popularity.saw(digest, book_id, user_id=request.user.pk if request.user.is_authenticated else None)
    else:
        popularity.saw(None, book_id, visitor=stand_in(request))


def counts(request: HttpRequest) -> bool:
    """Whether somebody looks: not a HEAD, nothing fetched in case it is wanted, no robot that says it is one."""
    headers = request.headers
    ahead = "prefetch" in headers.get("Sec-Purpose", headers.get("Purpose", headers.get("X-Moz", "")))
    return request.method == "GET" and not ahead and not _BOTS.search(headers.get("User-Agent", ""))


def stand_in(request: HttpRequest) -> str:
    """What stands for the token of a visitor who has none: the same for one address and browser, for a day. Nobody
    without the site's secret can tell whose it is, and nobody with it can follow anybody from day to day.
    """
    text = f"{clock.now():%Y-%m-%d}|{ratelimit.address(request)}|{request.headers.get('User-Agent', '')}"
    return hmac.new(f"view|{settings.SECRET_KEY}".encode(), text.encode(errors="replace"), "sha256").hexdigest()


def last_viewed(digest: str | None, count: int = LAST, *, but: int | None = None) -> list[BookRecord]:
    """The books that a visitor saw last, the latest first; without the one that they look at (``but``).

    Two round trips and no SQL; one query more when Redis has lost the list, or never knew it.
    """
    if not digest:
        return []
    times = _by_redis(digest)
    if times is None:
        times = by_sql(digest)
    ids = [pk for pk in sorted(times, key=lambda pk: -times[pk]) if pk != but]
    return in_order(ids, get_books(ids[: count + 3]))[:count]


def _by_redis(digest: str) -> dict[int, float] | None:
    """Books and when they were seen. None: Redis is away."""
    reading = read(["book"], lambda pipe: _ask(pipe, digest))
    if reading is None:
        return None
    restored, known, found = reading.replies
    times = {int(pk): seen for pk, seen in found}
    try:
        is_sure = restored is not None and epoch.trusted(client(), [restored])[0]
        if is_sure and known == restored:
            return times
        times = _newest(times, by_sql(digest))
        if is_sure:
            _put_back(digest, times, restored)
    except RedisError as error:
        if is_away(error):
            breaker.failed()
    return times


def _ask(pipe: Any, digest: str) -> None:
    pipe.get(naming.restored(BACKUP))
    pipe.get(keys.viewed_known(digest))
    pipe.zrevrange(keys.viewed_by(digest), 0, LAST - 1, withscores=True)


def _newest(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    return {pk: max(one.get(pk, 0.0), other.get(pk, 0.0)) for pk in {*one, *other}}


def by_sql(digest: str) -> dict[int, float]:
    """The books that a visitor saw last, and when (seconds since 1970), as far as SQL was told."""
    rows = View.objects.using(setting("DATABASE")).filter(visitor=digest).order_by("-seen_at")
    times: dict[int, float] = {}
    seen: datetime
    for book_id, seen in rows.values_list("book_id", "seen_at")[:SQL_ROWS]:
        if len(times) < LAST:
            times.setdefault(book_id, seen.timestamp())
    return times


def _put_back(digest: str, times: Mapping[int, float], marker: bytes) -> None:
    """Have Redis know all of a list under this marker; what it has and is newer stays."""
    name, life = keys.viewed_by(digest), settings.SESSION_COOKIE_AGE
    pipe = client().pipeline(transaction=False)
    if times:
        pipe.zadd(name, {str(pk): seen for pk, seen in times.items()}, gt=True)
        pipe.zremrangebyrank(name, 0, -LAST - 1)
        pipe.expire(name, life)
    pipe.set(keys.viewed_known(digest), marker, ex=life)
    pipe.execute()


def take_along(old: str, new: str) -> None:
    """A session goes on under another token: what was seen comes along, in the transaction of the rotation.

    A view of the last second, which SQL has not been told of, is in the list alone.
    """
    View.objects.filter(visitor=old).update(visitor=new)
    transaction.on_commit(lambda: _move(old, new), robust=True)


def claim(digest: str, user_id: int) -> None:
    """Somebody has logged in: what was seen in this session was seen by them."""
    View.objects.filter(visitor=digest, user=None).update(user=user_id)


def _move(old: str, new: str) -> None:
    """The list of the new token gets what the old one's has; whether it is all, SQL will be asked."""
    if breaker.open():
        return
    try:
        redis: Any = client()
        if found := redis.zrange(keys.viewed_by(old), 0, -1, withscores=True):
            redis.zadd(keys.viewed_by(new), dict(found), gt=True)
            redis.expire(keys.viewed_by(new), settings.SESSION_COOKIE_AGE)
        forget([old])
    except RedisError as error:
        logger.warning("What was seen under the old token stays there: %s", error)


def forget(digests: list[str]) -> None:
    """Take away what these visitors saw last: their sessions end. What stays because Redis is away ends by itself."""
    if breaker.open():
        return
    try:
        for start in range(0, len(digests), MOST):
            pipe = client().pipeline(transaction=False)
            for digest in digests[start : start + MOST]:
                pipe.unlink(keys.viewed_by(digest))
                pipe.unlink(keys.viewed_known(digest))
            pipe.execute()
    except RedisError as error:
        logger.warning("Lists of what was seen last stay for now: %s", error)
