"""Last-seen times of sessions. A use is written to ``recent:`` and, as a visit, to a stream (``accounts.visits``).

All times come from the clock of the Redis server, so that the age of a session does not depend on the clock of the web
server that handled the request.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.db import Error as DatabaseError

from accounts import keys
from accounts.models import Session
from accounts.visits import last_uses
from mirror.redis import Command, RedisClient, try_redis
from mirror.visits import script

logger = logging.getLogger("accounts")
T = TypeVar("T")

LUA_DIR = Path(__file__).parents[1] / "lua"
_touch_script = script(LUA_DIR / "touch.lua")
SEEN, CLAIMED, MISSING = 1, 0, -1
DIGESTS_PER_COMMAND = 100  # digests per command


def touch(digest: str, seen: float | None) -> bool:
    """Record that a session is used now, at most once per ``settings.SESSION_TOUCH_SECONDS``.

    A write at each request would be expensive; the limit on sessions is exact to this interval.
    seen: the session's score in ``recent:`` as this request read it (None: missing, or not read); a recent score saves
    the write. Return False if the session has ended or is being removed. While Redis is away nothing is recorded, and
    the session counts as valid.
    """
    if seen == 0:
        return False
    if seen is not None and time.time() - seen < settings.SESSION_TOUCH_SECONDS:
        return True
    found = _touch_in_redis(digest, create=False)
    if found != MISSING:
        return found == SEEN
    # Redis lost the digest or never had it, or the session was just removed. SQL decides: its row is deleted first.
    return begin(digest) if _is_in_sql(digest) else False


def begin(digest: str) -> bool:
    """Record that a session begins now. The return value is that of ``touch``."""
    return _touch_in_redis(digest, create=True) == SEEN


def forget(digests: Sequence[str]) -> None:
    """Remove ended sessions from ``recent:``. While Redis is away they stay as strays."""
    _ask_redis(lambda redis: remove(redis, digests), lambda: None)


def remove(redis: RedisClient, digests: Sequence[str]) -> None:
    """Remove sessions as ``forget`` does, with this client. Raises redis-py's errors."""
    pipe = redis.pipeline(transaction=False)
    for start in range(0, len(digests), DIGESTS_PER_COMMAND):
        pipe.zrem(keys.recent(), *digests[start : start + DIGESTS_PER_COMMAND])
    pipe.execute()


def make_corrections(alive: Mapping[str, float], gone: Sequence[str]) -> list[Command]:
    """Return commands that add the sessions ``alive`` (digest: start time) to ``recent:`` and remove those in ``gone``.

    Existing members keep their score, also score 0 of a session that is being removed.
    """
    scores = [part for digest, since in alive.items() for part in (f"{since:.6f}", digest)]
    added = [
        ("ZADD", keys.recent(), "NX", *scores[at : at + 2 * DIGESTS_PER_COMMAND])
        for at in range(0, len(scores), 2 * DIGESTS_PER_COMMAND)
    ]
    taken = [
        ("ZREM", keys.recent(), *gone[at : at + DIGESTS_PER_COMMAND]) for at in range(0, len(gone), DIGESTS_PER_COMMAND)
    ]
    return [*added, *taken]


def read_last_seen(digests: Sequence[str]) -> dict[str, float]:
    """Return last-seen times by digest, in seconds since 1970. Sessions that Redis does not know are left out."""
    if not digests:
        return {}
    nothing: list[float | None] = [None] * len(digests)
    scores = _ask_redis(lambda redis: redis.zmscore(keys.recent(), list(digests)), lambda: nothing)
    return {digest: score for digest, score in zip(digests, scores, strict=True) if score}


def _touch_in_redis(digest: str, *, create: bool) -> int:
    names = [keys.recent(), *last_uses.keys]
    arguments = [digest, settings.SESSION_TOUCH_SECONDS, int(create), last_uses.length]
    return _ask_redis(lambda redis: int(_touch_script(redis, names, arguments)), _drop_visit)


def _drop_visit() -> int:
    last_uses.count_dropped("unavailable")
    return SEEN


def _is_in_sql(digest: str) -> bool:
    """Return whether SQL has the session. While SQL is away the session counts as existing."""
    try:
        return Session.objects.filter(pk=digest).exists()
    except DatabaseError:
        return True


def _ask_redis(ask: Callable[[RedisClient], T], otherwise: Callable[[], T]) -> T:
    """Return the answer of Redis, or ``otherwise()`` if Redis does not answer."""
    return try_redis(ask, otherwise, logger, "Redis did not take when a session was seen: %s")
