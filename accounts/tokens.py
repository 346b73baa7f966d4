"""When sessions were last seen: a write to Redis only, which SQL is told of later (``accounts.backups``).

Times are those of Redis' own clock: one clock for all web servers, so that which session is the oldest does not
depend on who served it.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import Error as DatabaseError
from redis.exceptions import RedisError

from accounts import keys
from accounts.models import Session
from mirror.backup.marks import script
from mirror.redis import breaker, client, is_away
from mirror.session import Command

logger = logging.getLogger("accounts")
T = TypeVar("T")

LUA = Path(__file__).parent / "lua"
_touch = script(LUA / "touch.lua")
SEEN, CLAIMED, MISSING = 1, 0, -1
MOST = 100  # digests in one command


def touch(digest: str, seen: float | None) -> bool:
    """Note that a session is being used now, at most once in ``settings.SESSION_TOUCH_SECONDS``.

    seen: its score in ``recent:`` as this request read it (None: there was none, or nobody asked); if that is new
    enough Redis is not asked. Returns False when the session is being removed, or has been: it has ended. With
    Redis away nothing is noted and nobody's session ends.
    """
    if seen == 0:
        return False
    if seen is not None and time.time() - seen < settings.SESSION_TOUCH_SECONDS:
        return True
    found = _ask(lambda redis: _call_touch(redis, digest, create=False), SEEN)
    if found != MISSING:
        return found == SEEN
    # Redis lost it or never had it, unless the session has just been removed: SQL knows, for its row goes first.
    return begin(digest) if _exists(digest) else False


def begin(digest: str) -> bool:
    """Note that a session was made now. Returns as ``touch``."""
    return _ask(lambda redis: _call_touch(redis, digest, create=True), SEEN) == SEEN


def forget(digests: Sequence[str]) -> None:
    """Take sessions that have ended out of ``recent:``, with their marks. With Redis away they stay, as strays."""
    _ask(lambda redis: remove(redis, digests), None)


def remove(redis: Any, digests: Sequence[str]) -> None:
    """As ``forget``, on this client; raises redis-py's errors."""
    pipe = redis.pipeline(transaction=False)
    for start in range(0, len(digests), MOST):
        for name in (keys.recent_marks(), keys.recent()):
            pipe.zrem(name, *digests[start : start + MOST])
    pipe.execute()


def settling(alive: Mapping[str, float], gone: Sequence[str]) -> list[Command]:
    """Commands after which ``recent:`` has all of the sessions ``alive`` (digest: since when), and none that is gone.

    A session that is there keeps its time, and one that is being removed its claim.
    """
    scores = [part for digest, since in alive.items() for part in (f"{since:.6f}", digest)]
    added = [("ZADD", keys.recent(), "NX", *scores[at : at + 2 * MOST]) for at in range(0, len(scores), 2 * MOST)]
    taken = [("ZREM", key, *gone[at : at + MOST]) for at in range(0, len(gone), MOST) for key in both()]
    return [*added, *taken]


def last_seen(digests: Sequence[str]) -> dict[str, float]:
    """When these sessions were last seen, in seconds since 1970; left out: Redis does not know, or is away."""
    if not digests:
        return {}
    nothing: list[float | None] = [None] * len(digests)
    scores = _ask(lambda redis: redis.zmscore(keys.recent(), list(digests)), nothing)
    return {digest: score for digest, score in zip(digests, scores, strict=True) if score}


def both() -> list[str]:
    """The keys that are written together, in one slot of a cluster: the times, and the marks of what is new."""
    return [keys.recent(), keys.recent_marks()]


def _call_touch(redis: Any, digest: str, *, create: bool) -> int:
    return int(_touch(redis, both(), [digest, settings.SESSION_TOUCH_SECONDS, int(create)]))


def _exists(digest: str) -> bool:
    """Whether SQL has the session; if it does not answer, nobody's session ends for that."""
    try:
        return Session.objects.filter(pk=digest).exists()
    except DatabaseError:
        return True


def _ask(ask: Callable[[Any], T], away: T) -> T:
    """What Redis answers, or ``away`` when it does not."""
    if breaker.open():
        return away
    try:
        return ask(client())
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("Redis did not take when a session was seen: %s", error)
        return away
