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
from typing import Any, Final, NamedTuple

from django.conf import settings
from django_redis import get_redis_connection
from redis.exceptions import RedisError

from mirror.bounded import Bounded
from mirror.redis import Breaker
from shop import keys
from shop.pagecache.render import Refused
from shop.pagecache.shells import Shell, lifetime

logger = logging.getLogger("shop")

LOOK_SECONDS: Final = 0.02  # first pause between two polls for a page; each next one doubles
ASK_SECONDS: Final = 1.0  # pause between two checks for the successor of a stale copy
LONGEST_PAUSE_SECONDS: Final = 0.2
REFUSED_SECONDS: Final = 60.0  # how long a page that must not be cached is not tried again
COPIES: Final = 512  # pages per process
LARGEST: Final = 200_000  # bytes of the largest page that is copied

LOOKERS: Final = tuple(threading.Lock() for _ in range(64))  # by page: one thread per process polls for all of them

UNLOCK: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class Copy(NamedTuple):
    """A page in the process. shell: None if it was refused. ask_at: when to ask the cache server again (monotonic
    seconds).
    """

    shell: Shell | None
    ask_at: float


breaker = Breaker()
_copies: Final = Bounded[Copy](COPIES)


def _keep(digest: str, shell: Shell | None, seconds: float = 0.0) -> Shell | None:
    if shell is None or sum(map(len, shell.pieces)) <= LARGEST:
        _copies.put(digest, Copy(shell, time.monotonic() + seconds))
    return shell


def forget() -> None:
    """Drop all copies. For tests."""
    _copies.clear()
    breaker.reset()


def page(digest: str, make: Callable[[], Shell]) -> Shell | None:
    """Return the page from a copy, the cache server or ``make``. Return None if the view must answer."""
    copy = _copies.get(digest)
    if copy is not None:
        shell = copy.shell
        if (shell is not None and shell.is_fresh) or time.monotonic() < copy.ask_at:
            return shell
    old = copy.shell if copy and copy.shell and not copy.shell.is_over else None
    if breaker.open():
        return old
    try:
        return _ask(digest, old, make)
    except RedisError as error:
        breaker.failed()
        logger.warning("The cache server did not answer: %s", error)
        return old


def _ask(digest: str, old: Shell | None, make: Callable[[], Shell]) -> Shell | None:
    redis = get_redis_connection("default")
    found = _read(redis.get(keys.page(digest))) or old
    if found and found.is_fresh:
        return _keep(digest, found)
    lock, token = keys.page_lock(digest), secrets.token_hex(16)
    # Take the lock before reading: its previous owner stored the page before releasing it.
    pipe = redis.pipeline(transaction=False)
    pipe.set(lock, token, nx=True, px=int(settings.SHOP_PAGE_LOCK_SECONDS * 1000))
    pipe.get(keys.page(digest))
    is_mine, raw = pipe.execute()
    found = _read(raw) or found
    if found and found.is_fresh:
        if is_mine:
            redis.eval(UNLOCK, 1, lock, token)
        return _keep(digest, found)
    if is_mine:
        return _make(redis, digest, token, make)
    return _keep(digest, found, ASK_SECONDS) if found else _wait(redis, digest)


def _read(raw: bytes | None) -> Shell | None:
    try:
        shell = None if raw is None else Shell.from_bytes(raw)
    except (ValueError, TypeError, AttributeError) as error:
        logger.warning("What the cache server has is no page: %s", error)
        return None
    return shell if shell and not shell.is_over else None


def _make(redis: Any, digest: str, token: str, make: Callable[[], Shell]) -> Shell | None:
    pipe = redis.pipeline(transaction=False)
    try:
        shell = make()
        pipe.set(keys.page(digest), shell.to_bytes(), px=int(lifetime() * 1000))
        return _keep(digest, shell)
    except Refused as refusal:
        logger.warning("A page cannot be remembered: %s", refusal)
        return _keep(digest, None, REFUSED_SECONDS)
    finally:
        pipe.eval(UNLOCK, 1, keys.page_lock(digest), token)
        try:
            pipe.execute()
        except RedisError as error:
            breaker.failed()
            logger.warning("The cache server did not take a page: %s", error)


def _wait(redis: Any, digest: str) -> Shell | None:
    """Wait for the page that another process renders. One thread polls; the others wait for its result."""
    patience, looker = settings.SHOP_PAGE_WAIT_SECONDS, LOOKERS[hash(digest) % len(LOOKERS)]
    end = time.monotonic() + patience
    if not looker.acquire(timeout=patience):
        return None
    try:
        copy = _copies.get(digest)
        if copy and copy.shell and copy.shell.is_fresh:
            return copy.shell
        return _look(redis, digest, end)
    finally:
        looker.release()


def _look(redis: Any, digest: str, end: float) -> Shell | None:
    pause = LOOK_SECONDS
    while time.monotonic() < end:
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        pipe = redis.pipeline(transaction=False)
        pipe.exists(keys.page_lock(digest))
        pipe.get(keys.page(digest))
        is_being_made, raw = pipe.execute()
        if raw is not None:
            return _keep(digest, _read(raw))
        if not is_being_made:
            return None
    return None
