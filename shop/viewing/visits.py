"""Record views of books, and read each visitor's last viewed books."""

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

SQL_ROWS: Final = 100  # newest views that SQL searches for the last books; a book may have several
MOST: Final = 100  # digests per round trip
_BOTS: Final = re.compile(r"bot\b|crawl|spider|slurp|preview|scrapy|monitor|externalhit|archiver", re.IGNORECASE)


def record(request: HttpRequest, book_id: int) -> None:
    """Record a view of an existing book, if the request counts as one. Never raises Redis errors."""
    if not counts(request):
        return
    if digest := digest_of(request):
        popularity.saw(digest, book_id, user_id=request.user.pk if request.user.is_authenticated else None)
    else:
        popularity.saw(None, book_id, visitor=stand_in(request))


def counts(request: HttpRequest) -> bool:
    """Return whether a request counts as a view: a GET that is neither a prefetch nor from a known robot."""
    headers = request.headers
    ahead = "prefetch" in headers.get("Sec-Purpose", headers.get("Purpose", headers.get("X-Moz", "")))
    return request.method == "GET" and not ahead and not _BOTS.search(headers.get("User-Agent", ""))


def stand_in(request: HttpRequest) -> str:
    """Return the identifier of a visitor without a session: one per address, browser and day.

    It is an HMAC with the site's secret. Others cannot compute it, and because it changes daily, not even the site can
    follow a visitor from day to day.
    """
    text = f"{clock.now():%Y-%m-%d}|{ratelimit.address(request)}|{request.headers.get('User-Agent', '')}"
    return hmac.new(f"view|{settings.SECRET_KEY}".encode(), text.encode(errors="replace"), "sha256").hexdigest()


def last_viewed(digest: str | None, count: int = LAST, *, but: int | None = None) -> list[BookRecord]:
    """Return the visitor's last viewed books, the latest first, without the book ``but``.

    Two round trips and no SQL; one query more if Redis does not have the list.
    """
    if not digest:
        return []
    times = _by_redis(digest)
    if times is None:
        times = by_sql(digest)
    ids = [pk for pk in sorted(times, key=lambda pk: -times[pk]) if pk != but]
    return in_order(ids, get_books(ids[: count + 3]))[:count]


def _by_redis(digest: str) -> dict[int, float] | None:
    """Return the times of views by book, or None if Redis is away."""
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
    """Return the times of the last views by book, in seconds since 1970, as far as SQL has them."""
    rows = View.objects.using(setting("DATABASE")).filter(visitor=digest).order_by("-seen_at")
    times: dict[int, float] = {}
    seen: datetime
    for book_id, seen in rows.values_list("book_id", "seen_at")[:SQL_ROWS]:
        if len(times) < LAST:
            times.setdefault(book_id, seen.timestamp())
    return times


def _put_back(digest: str, times: Mapping[int, float], marker: bytes) -> None:
    """Complete a list in Redis under this marker. Newer entries in Redis stay."""
    name, life = keys.viewed_by(digest), settings.SESSION_COOKIE_AGE
    pipe = client().pipeline(transaction=False)
    if times:
        pipe.zadd(name, {str(pk): seen for pk, seen in times.items()}, gt=True)
        pipe.zremrangebyrank(name, 0, -LAST - 1)
        pipe.expire(name, life)
    pipe.set(keys.viewed_known(digest), marker, ex=life)
    pipe.execute()


def take_along(old: str, new: str) -> None:
    """Move the views of a session to its new token, in the transaction of the rotation.

    Views that SQL does not have yet are moved with the list only.
    """
    View.objects.filter(visitor=old).update(visitor=new)
    transaction.on_commit(lambda: _move(old, new), robust=True)


def claim(digest: str, user_id: int) -> None:
    """Assign the views of a session to the user who has logged in."""
    View.objects.filter(visitor=digest, user=None).update(user=user_id)


def _move(old: str, new: str) -> None:
    """Copy the list to the new token. It gets no marker, so the next reader completes it from SQL."""
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
    """Delete the lists of these sessions. If Redis is away, they expire by themselves."""
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
