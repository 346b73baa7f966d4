"""Record views of books, and read each visitor's last viewed books."""

import hmac
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest

from accounts import ratelimit
from catalog.listing import BookRecord
from catalog.mirrors import BookMirror
from common import clock
from mirror.conf import setting
from mirror.read import read, stamps
from mirror.redis import RedisClient, RedisPipeline, client, try_redis
from shop import keys
from shop.book_views import popularity
from shop.book_views.popularity import MAX_LAST_VIEWED, logger
from shop.models import View
from shop.selectors.books import order_books
from shop.visitors import get_session_digest

MAX_SQL_ROWS: Final = 100  # newest views that SQL searches for the last books; a book may have several
KEYS_PER_BATCH: Final = 100  # digests per round trip
_COUNTED: Final = "_is_view_counted"  # attribute of requests
_BOT_PATTERN: Final = re.compile(r"bot\b|crawl|spider|slurp|preview|scrapy|monitor|externalhit|archiver", re.IGNORECASE)


def mark_counted(request: HttpRequest) -> None:
    """Note that the view of this request has been counted ahead (``counting_ahead``)."""
    setattr(request, _COUNTED, True)


def record_view(request: HttpRequest, book_id: int) -> None:
    """Record a view of an existing book, if the request counts as one. Never raises Redis errors."""
    if hasattr(request, _COUNTED) or not counts_as_view(request):
        return
    if digest := get_session_digest(request):
        popularity.count_view(digest, book_id, user_id=request.user.pk if request.user.is_authenticated else None)
    else:
        popularity.count_view(None, book_id, visitor=make_visitor_id(request))


def counts_as_view(request: HttpRequest) -> bool:
    """Return whether a request counts as a view: a GET that is neither a prefetch nor from a known robot."""
    headers = request.headers
    ahead = "prefetch" in headers.get("Sec-Purpose", headers.get("Purpose", headers.get("X-Moz", "")))
    return request.method == "GET" and not ahead and not _BOT_PATTERN.search(headers.get("User-Agent", ""))


def make_visitor_id(request: HttpRequest) -> str:
    """Return the identifier of a visitor without a session: one per address, browser and day.

    It is an HMAC with the site's secret. Others cannot compute it, and because it changes daily, not even the site can
    follow a visitor from day to day.
    """
    text = f"{clock.now():%Y-%m-%d}|{ratelimit.get_client_address(request)}|{request.headers.get('User-Agent', '')}"
    return hmac.new(f"view|{settings.SECRET_KEY}".encode(), text.encode(errors="replace"), "sha256").hexdigest()


def get_last_viewed(digest: str | None, count: int = MAX_LAST_VIEWED, *, but: int | None = None) -> list[BookRecord]:
    """Return the visitor's last viewed books, the latest first, without the book ``but``.

    Two round trips and no SQL; one query more if Redis does not have the list.
    """
    if not digest:
        return []
    times = _read_from_redis(digest)
    if times is None:
        times = load_from_sql(digest)
    ids = [pk for pk in sorted(times, key=lambda pk: -times[pk]) if pk != but]
    return order_books(ids, BookMirror.get_many(ids[: count + 3]))[:count]


def _read_from_redis(digest: str) -> dict[int, float] | None:
    """Return the times of views by book, or None if Redis is away."""
    # No reader, because the list is not mirrored: SQL may lack its newest views, and this completes it.
    reading = read(["book"], lambda pipe: _queue_reads(pipe, digest))
    if reading is None:
        return None
    known, found = reading.replies
    times = {int(pk): seen for pk, seen in found}

    def complete(redis: RedisClient) -> None:
        if not stamps.are_current(redis, [known])[0]:
            # Made before SQL is read: after a loss of Redis in between, it names the lost server, and readers refuse
            # it.
            stamp = stamps.make(redis)
            times.update(_merge_times(times, load_from_sql(digest)))
            _complete_in_redis(redis, digest, times, stamp)

    try_redis(complete, lambda: None, warning="", redis=client())
    return times


def _queue_reads(pipe: RedisPipeline, digest: str) -> None:
    pipe.get(keys.last_viewed_marker(digest))
    pipe.zrevrange(keys.last_viewed(digest), 0, MAX_LAST_VIEWED - 1, withscores=True)


def _merge_times(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    return {pk: max(one.get(pk, 0.0), other.get(pk, 0.0)) for pk in {*one, *other}}


def load_from_sql(digest: str) -> dict[int, float]:
    """Return the times of the last views by book, in seconds since 1970, as far as SQL has them."""
    rows = View.objects.using(setting("DATABASE")).filter(visitor=digest).order_by("-seen_at")
    times: dict[int, float] = {}
    seen: datetime
    for book_id, seen in rows.values_list("book_id", "seen_at")[:MAX_SQL_ROWS]:
        if len(times) < MAX_LAST_VIEWED:
            times.setdefault(book_id, seen.timestamp())
    return times


def _complete_in_redis(redis: RedisClient, digest: str, times: Mapping[int, float], stamp: str) -> None:
    """Complete a list in Redis under this stamp. Newer entries in Redis stay."""
    name, life = keys.last_viewed(digest), settings.SESSION_COOKIE_AGE
    pipe = redis.pipeline(transaction=False)
    if times:
        # GT keeps views that arrived since SQL was read.
        pipe.zadd(name, {str(pk): seen for pk, seen in times.items()}, gt=True)
        pipe.zremrangebyrank(name, 0, -MAX_LAST_VIEWED - 1)
        pipe.expire(name, life)
    # The stamp comes last, so that a reader who sees it also sees the completed list.
    pipe.set(keys.last_viewed_marker(digest), stamp, ex=life)
    pipe.execute()


def move_views(old: str, new: str) -> None:
    """Move the views of a session to its new token, in the transaction of the rotation.

    Views that SQL does not have yet are moved with the list only.
    """
    View.objects.filter(visitor=old).update(visitor=new)
    # Robust: the rotation is committed, and must not fail because a list stayed behind.
    transaction.on_commit(lambda: _move_list(old, new), robust=True)


def claim_views(digest: str, user_id: int) -> None:
    """Assign the views of a session to the user who has logged in."""
    View.objects.filter(visitor=digest, user=None).update(user=user_id)


def _move_list(old: str, new: str) -> None:
    """Copy the list to the new token. It gets no marker, so the next reader completes it from SQL."""

    def move(redis: RedisClient) -> None:
        if found := redis.zrange(keys.last_viewed(old), 0, -1, withscores=True):
            redis.zadd(keys.last_viewed(new), dict(found), gt=True)
            redis.expire(keys.last_viewed(new), settings.SESSION_COOKIE_AGE)
        forget_last_viewed([old])

    try_redis(move, lambda: None, logger, "What was seen under the old token stays there: %s")


def forget_last_viewed(digests: list[str]) -> None:
    """Delete the lists of these sessions. If Redis is away, they expire by themselves."""

    def forget(redis: RedisClient) -> None:
        for start in range(0, len(digests), KEYS_PER_BATCH):
            pipe = redis.pipeline(transaction=False)
            for digest in digests[start : start + KEYS_PER_BATCH]:
                pipe.unlink(keys.last_viewed(digest))
                pipe.unlink(keys.last_viewed_marker(digest))
            pipe.execute()

    try_redis(forget, lambda: None, logger, "Lists of what was seen last stay for now: %s")
