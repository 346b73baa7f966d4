"""The storage of cached pages: on the cache server, with copies in the process.

A lock lets one process at a time render a page. The lock is a token that expires, so a killed process does not block
others for long, and only its owner releases it. Other processes serve the stale page, or wait a moment for the new one
if there is none.

Without the cache server only the fresh copies in the process are served.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from django.conf import settings
from django.core.signing import BadSignature
from django_redis import get_redis_connection
from redis.exceptions import RedisError

from mirror.redis import Breaker, RedisClient
from mirror.utils import Bounded, FailureLog
from shop import keys
from shop.pagecache.rendering import PageRefused
from shop.pagecache.stored_page import StoredPage, get_lifetime_seconds

logger = logging.getLogger("shop")

IsCurrent = Callable[[StoredPage], bool]
FIRST_PAUSE_SECONDS: Final = 0.02  # first pause between two polls for a page; each next one doubles
MAX_PAUSE_SECONDS: Final = 0.2
MAX_COPIES: Final = 512  # pages per process
MAX_COPY_BYTES: Final = 200_000  # bytes of the largest page that is copied

POLL_LOCKS: Final = tuple(threading.Lock() for _ in range(64))  # by page: one thread per process polls for all of them

UNLOCK_SCRIPT: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class LocalCopy(NamedTuple):
    """A page in the process. page: None if it was refused. checked_at: when Redis last said that it is current, or the
    page was refused (monotonic seconds).
    """

    page: StoredPage | None
    checked_at: float

    @property
    def age(self) -> float:
        """Seconds since the check."""
        return time.monotonic() - self.checked_at


breaker = Breaker()
outages: Final = FailureLog(logger)
_copies: Final = Bounded[str, LocalCopy](MAX_COPIES)


def get_copy(digest: str) -> LocalCopy | None:
    """Return what the process knows of a page."""
    return _copies.get(digest)


def keep_copy(digest: str, page: StoredPage | None) -> StoredPage | None:
    """Remember that a page is current, or (None) that it was refused."""
    if page is None or sum(map(len, page.pieces)) <= MAX_COPY_BYTES:
        _copies.put(digest, LocalCopy(page, time.monotonic()))
    return page


def clear_copies() -> None:
    """Drop all copies. For tests."""
    _copies.clear()
    breaker.reset()


def find_or_render(
    digest: str, previous: StoredPage | None, is_current: IsCurrent, make: Callable[[], StoredPage]
) -> StoredPage | None:
    """Return the page from the cache server or ``make``. Return None if the view must answer.

    previous: a page that may be served while another process renders. is_current: returns whether a page shows what
    Redis has now.
    """
    if breaker.open():
        return previous
    try:
        page = _find_on_server(digest, previous, is_current, make)
    except RedisError as error:
        breaker.failed()
        outages.add("cache", "The cache server did not answer: %s", error, level=logging.WARNING)
        return previous
    # The server may have answered, and then not taken the page.
    if not breaker.open():
        outages.end("cache", "The cache server answers again")
    return page


def _find_on_server(
    digest: str, previous: StoredPage | None, is_current: IsCurrent, make: Callable[[], StoredPage]
) -> StoredPage | None:
    redis = get_redis_connection("default")
    found = _decode_page(digest, redis.get(keys.cached_page(digest)))
    if found and is_current(found):
        if found.is_fresh:
            return keep_copy(digest, found)
        previous = found
    lock, token = keys.cached_page_lock(digest), secrets.token_hex(16)
    # Take the lock before reading: its previous owner stored the page before releasing it.
    pipe = redis.pipeline(transaction=False)
    pipe.set(lock, token, nx=True, px=int(settings.SHOP_PAGE_LOCK_SECONDS * 1000))
    pipe.get(keys.cached_page(digest))
    is_mine, raw = pipe.execute()
    newer = _decode_page(digest, raw)
    if newer and newer.is_fresh and (found is None or newer.rendered_at > found.rendered_at):
        # Another process stored the page between the two reads.
        if is_mine:
            redis.eval(UNLOCK_SCRIPT, 1, lock, token)
        return keep_copy(digest, newer)
    if is_mine:
        return _render_and_store(redis, digest, token, make)
    return previous or _wait_for_page(redis, digest, found)


def _decode_page(digest: str, raw: bytes | None) -> StoredPage | None:
    try:
        page = None if raw is None else StoredPage.from_bytes(digest, raw)
    except (BadSignature, ValueError, TypeError, AttributeError) as error:
        logger.warning("What the cache server has is no page: %s", error)
        return None
    return page if page and not page.is_expired else None


def _render_and_store(redis: RedisClient, digest: str, token: str, make: Callable[[], StoredPage]) -> StoredPage | None:
    pipe = redis.pipeline(transaction=False)
    try:
        page = make()
        pipe.set(keys.cached_page(digest), page.to_bytes(digest), px=int(get_lifetime_seconds() * 1000))
        return keep_copy(digest, page)
    except PageRefused as refusal:
        logger.warning("A page cannot be remembered: %s", refusal)
        return keep_copy(digest, None)
    finally:
        # Released also when the page was refused or failed, and only if the lock is still that of this process.
        pipe.eval(UNLOCK_SCRIPT, 1, keys.cached_page_lock(digest), token)
        try:
            pipe.execute()
        except RedisError as error:
            breaker.failed()
            outages.add("cache", "The cache server did not take a page: %s", error, level=logging.WARNING)


def _wait_for_page(redis: RedisClient, digest: str, outdated: StoredPage | None) -> StoredPage | None:
    """Wait for the page that another process renders. One thread polls; the others wait for its result."""
    patience, looker = settings.SHOP_PAGE_WAIT_SECONDS, POLL_LOCKS[hash(digest) % len(POLL_LOCKS)]
    began = time.monotonic()
    # One thread per page polls: a hundred waiting requests would otherwise send a hundred polls.
    if not looker.acquire(timeout=patience):
        return None
    try:
        # The thread that polled before may have found the page.
        copy = _copies.get(digest)
        if copy and copy.page and copy.checked_at >= began and copy.page.is_fresh:
            return copy.page
        return _poll_for_page(redis, digest, began + patience, outdated.rendered_at if outdated else 0.0)
    finally:
        looker.release()


def _poll_for_page(redis: RedisClient, digest: str, end: float, outdated_at: float) -> StoredPage | None:
    """Ask until ``end`` for a page that was rendered after ``outdated_at`` (seconds since 1970)."""
    pause = FIRST_PAUSE_SECONDS
    while time.monotonic() < end:
        time.sleep(pause)
        pause = min(2 * pause, MAX_PAUSE_SECONDS)
        pipe = redis.pipeline(transaction=False)
        pipe.exists(keys.cached_page_lock(digest))
        pipe.get(keys.cached_page(digest))
        is_being_made, raw = pipe.execute()
        page = _decode_page(digest, raw)
        if page and page.rendered_at > outdated_at:
            return keep_copy(digest, page)
        # The process that had the lock was killed, or the page was refused.
        if not is_being_made:
            return None
    return None
