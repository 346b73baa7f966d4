"""Windows as readers and makers see them: asking for a slice, warming a lazy one, keeping it, taking it away.

A lazy window's sentinel says how it stands by its score: ``WHOLE``, ``CUT``, or ``MAKING``. Nothing is lost between a
warm-up and those who push rows, if both keep to this:

- A warm-up first puts the sentinel there with the score ``MAKING`` (for readers that is cold), then watches, reads SQL
  and writes. So what is pushed meanwhile finds a sentinel, goes in, and makes the warm-up start over.
- Whoever pushes a row into a window with a sentinel, of whatever score, *changes* the sorted set, also where it says so
  already (a ZADD or ZREM that changes nothing breaks nobody's WATCH: add and take away). Whoever cuts rows off turns
  ``WHOLE`` into ``CUT``, and nothing else into anything.
- A row below all others of a cut window is not pushed: its floor would say that everything above is there.
"""

import logging
import random
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from redis.exceptions import RedisError

from mirror import apply, marker, naming, outbox, send
from mirror.conf import milliseconds, setting
from mirror.declare import CUT, MAKING, SENTINEL, WHOLE, WindowMirror
from mirror.redis import breaker, client, is_away, relay_client
from mirror.session import Conflict
from mirror.throttle import Throttle
from mirror.window_shapes import WarmingShape

logger = logging.getLogger("mirror")

ASKS: Final = 3  # commands that ``ask`` adds, and replies that ``answer`` takes
requests = Throttle("WARM_REQUEST_SECONDS")  # by this process, for each window


class Slice(NamedTuple):
    """A part of a window. ids: newest first. With fewer of them than were asked for, ``whole`` says that nothing else
    comes below them, in SQL either; else SQL has to be asked for the rest. life: seconds left, -1: for ever.
    """

    ids: list[int]
    whole: bool
    life: int


def ask(pipe: Any, mirror: WindowMirror, owner: str, below: int | None, limit: int) -> None:
    """Add the commands (``ASKS`` of them) that read up to ``limit`` ids below ``below`` (None: the newest)."""
    key, top = mirror.key(owner), "+inf" if below is None else f"({below}"
    if mirror.lazy:
        # The sentinel is the lowest member: a short slice ends with it, and so is of one moment with what it says.
        pipe.zscore(key, SENTINEL)
        pipe.zrevrangebyscore(key, top, MAKING, start=0, num=limit, withscores=True)
        pipe.ttl(key)
    else:
        last = mirror.length - 1  # whether the window is full, before and after
        pipe.zrevrange(key, last, last)
        pipe.zrevrangebyscore(key, top, 1, start=0, num=limit, withscores=True)
        pipe.zrevrange(key, last, last)


def answer(replies: Sequence[Any]) -> Slice | None:
    """What the replies to ``ask`` say. None: a lazy window that is cold, SQL has to answer."""
    first, found, third = replies
    if isinstance(first, list):
        return Slice(_ids(found), not first and not third, -1)
    if first is None:
        return None
    end = found.pop()[1] if found and found[-1][0] == _SENTINEL else CUT
    return None if MAKING in (first, end) else Slice(_ids(found), end == WHOLE, third)


_SENTINEL = SENTINEL.encode()


def _ids(found: Sequence[tuple[bytes, float]]) -> list[int]:
    return [int(member) for member, _ in found if member.isdigit()]


def keep(pipe: Any, mirror: WindowMirror, owner: str) -> None:
    """Add the command that lets a window live its whole life from now on: somebody reads it."""
    if mirror.life_seconds:
        pipe.expire(mirror.key(owner), mirror.life_seconds)


def cool(mirror: WindowMirror, owners: Iterable[str], redis: Any) -> None:
    """Take these windows away: the next reader is answered by SQL."""
    pipe = redis.pipeline(transaction=False)
    for owner in owners:
        pipe.unlink(mirror.key(owner))
    pipe.execute()


def those_there(mirror: WindowMirror, owners: Sequence[str], redis: Any) -> list[str]:
    """Which of these lazy windows are warm, or being made."""
    pipe = redis.pipeline(transaction=False)
    for owner in owners:
        pipe.zscore(mirror.key(owner), SENTINEL)
    return [owner for owner, score in zip(owners, pipe.execute(), strict=True) if score is not None]


def warm_soon(mirror: WindowMirror, owner: str) -> None:
    """A reader found a window cold: have it warmed by a worker. One task for all who ask; never raises."""
    if breaker.open() or not requests.allows((mirror.name, owner)):
        return
    try:
        lease = naming.lease(f"warm:{mirror.name}:{owner}")
        if not client().set(lease, "1", px=milliseconds("WARM_REQUEST_SECONDS"), nx=True):
            return
        if not send.warm(mirror.name, owner):
            client().delete(lease)
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("The window %s of %s stays cold: %s", owner, mirror.name, error)


class _Cold(Exception):
    """A mirror that has to be whole is not."""


def warm(mirror: WindowMirror, owner: str, redis: Any = None, *, step: apply.Step = apply.no_step) -> bool:
    """Make a window here and now, from SQL. Returns whether it is there then. ``step``: as for ``apply.drain``.

    It is not where there is no such owner, nor while the mirror itself or one in its ``after`` is cold: what is pushed
    could not get in. Raises as ``apply.drain``.
    """
    redis = redis or relay_client()
    outbox.refuse_transaction()
    for attempt in range(apply.TRIES):
        try:
            _refuse_while_cold(mirror, redis)
            if not _claim(mirror, owner, redis):
                return True
            return _make(mirror, owner, redis, step)
        except _Cold:
            return False
        except Conflict:
            time.sleep(random.uniform(0, 0.002 * min(attempt, 10)))
    raise Conflict(f"{mirror.name}: others kept writing the window of {owner}")


def _claim(mirror: WindowMirror, owner: str, redis: Any) -> bool:
    """Say that the window is in the making. False: it is warm, and lives its whole life from now on."""
    key = mirror.key(owner)
    found = redis.zscore(key, SENTINEL)
    pipe = redis.pipeline(transaction=True)
    if found is not None and found != MAKING:
        keep(pipe, mirror, owner)
        pipe.execute()
        return False
    pipe.zadd(key, {SENTINEL: MAKING}, nx=True)
    pipe.expire(key, int(setting("WARM_CLAIM_SECONDS")))
    pipe.execute()
    return True


def _make(mirror: WindowMirror, owner: str, redis: Any, step: apply.Step) -> bool:
    shape = WarmingShape(mirror)

    def look(at: str) -> None:
        step(at)
        if at == "read":  # everything is watched, nothing has been read from SQL
            _refuse_while_cold(mirror, redis)

    apply.drain(mirror, [owner], redis=redis, step=look, tries=1, shape=shape)
    return shape.made


def _refuse_while_cold(mirror: WindowMirror, redis: Any) -> None:
    names = [mirror.name, *(after.mirror for after in mirror.after)]
    pipe = redis.pipeline(transaction=False)
    for name in names:
        pipe.get(naming.marker(name))
    if marker.generations(redis, names, pipe.execute()) is None:
        raise _Cold
