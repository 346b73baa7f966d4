"""Read, warm, keep and delete windows.

The score of a lazy window's sentinel gives its state: ``WHOLE``, ``CUT`` or ``MAKING``. No row is lost between a
warm-up and concurrent pushes, if both follow these rules:

- A warm-up first writes the sentinel with the score ``MAKING``, which readers treat as cold. Then it watches the
  window, reads SQL and writes. A row pushed meanwhile finds a sentinel, is added, and makes the warm-up start over.
- A push into a window with a sentinel of any score *modifies* the sorted set, even if it already has the row. A
  ZADD or ZREM without an effect breaks no WATCH, so the push adds and removes. A push that cuts off rows changes
  ``WHOLE`` to ``CUT``; no other state changes.
- A row below the floor of a cut window is not added, because the new floor would claim that all rows above it are
  present.
"""

import logging
import random
import time
from collections.abc import Iterable, Sequence
from typing import Final

from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import relay_client, try_redis
from mirror.redis.session import Conflict
from mirror.redis.types import RedisClient
from mirror.relay import apply, send
from mirror.utils.callbacks import Step, ignore
from mirror.utils.throttle import Throttle
from mirror.warm import marker
from mirror.windows.declare import WindowMirror
from mirror.windows.kinds import WarmingKind
from mirror.windows.reading import ASKS, CUT, MAKING, SENTINEL, WHOLE, Slice, answer, ask, keep

__all__ = ["ASKS", "Slice", "answer", "ask", "cool", "count_warm", "keep", "warm", "warm_soon"]
logger = logging.getLogger("mirror")
WARM_CLAIM_SECONDS: Final = 60  # how long a window stays claimed after its warm-up was killed
WARM_REQUEST_SECONDS: Final = 5.0  # how often one window is requested to be warmed

requests = Throttle(lambda: WARM_REQUEST_SECONDS)  # of this process, per window


def cool(mirror: WindowMirror, owners: Iterable[str], redis: RedisClient) -> None:
    """Delete these windows, so that SQL answers their next readers."""
    pipe = redis.pipeline(transaction=False)
    for owner in owners:
        pipe.unlink(mirror.record_key(owner))
    pipe.execute()


def count_warm(mirror: WindowMirror, owners: Sequence[str], redis: RedisClient) -> int:
    """Return the number of warm windows among these lazy ones."""
    pipe = redis.pipeline(transaction=False)
    for owner in owners:
        pipe.zscore(mirror.record_key(owner), SENTINEL)
    states = pipe.execute()
    return states.count(WHOLE) + states.count(CUT)


def warm_soon(mirror: WindowMirror, owner: str) -> None:
    """Send a task that warms a window which a reader found cold. One task serves all its readers. Never raises."""
    lease = naming.lease(f"warm:{mirror.name}:{owner}")

    def request(redis: RedisClient) -> None:
        if not requests.allows((mirror.name, owner)):
            return
        # The throttle spares this process round trips, the lease spares the others tasks.
        if not redis.set(lease, "1", px=int(WARM_REQUEST_SECONDS * 1000), nx=True):
            return
        if not send.warm(mirror.name, owner):
            # No task was sent, so the next reader tries again.
            redis.delete(lease)

    try_redis(request, lambda: None, logger, "The window %s of %s stays cold: %s", owner, mirror.name)


class _Cold(Exception):
    """A required mirror is cold."""


def warm(mirror: WindowMirror, owner: str, redis: RedisClient | None = None, *, step: Step = ignore) -> bool:
    """Make a window from SQL now. Return whether it exists then. step: as for ``apply.drain``.

    A window is not made without an owner in SQL, nor while its mirror or one in ``after`` is cold, because pushes
    could not reach it. Raises the same errors as ``apply.drain``.
    """
    redis = redis or relay_client()
    changes.refuse_transaction()
    for attempt in range(apply.TRIES):
        try:
            _refuse_while_cold(mirror, redis)
            if not _claim_window(mirror, owner, redis):
                return True
            return _make_window(mirror, owner, redis, step)
        except _Cold:
            return False
        except Conflict:
            # For a random time, so that two processes which met do not meet again.
            time.sleep(random.uniform(0, 0.002 * min(attempt, 10)))
    raise Conflict(f"{mirror.name}: others kept writing the window of {owner}")


def _claim_window(mirror: WindowMirror, owner: str, redis: RedisClient) -> bool:
    """Claim the window for the warm-up. Return False if it is already warm, after extending its life."""
    key = mirror.record_key(owner)
    found = redis.zscore(key, SENTINEL)
    pipe = redis.pipeline(transaction=True)
    if found is not None and found != MAKING:
        keep(pipe, mirror, owner)
        pipe.execute()
        return False
    # NX: another warm-up may have ended meanwhile, whose window would become cold again.
    pipe.zadd(key, {SENTINEL: MAKING}, nx=True)
    pipe.expire(key, WARM_CLAIM_SECONDS)
    pipe.execute()
    return True


def _make_window(mirror: WindowMirror, owner: str, redis: RedisClient, step: Step) -> bool:
    kind = WarmingKind(mirror)

    def look(at: str) -> None:
        step(at)
        # After WATCH, before SQL: rows that were pushed until now are read from SQL, and later pushes break the WATCH.
        if at == "read":
            _refuse_while_cold(mirror, redis)

    apply.drain(mirror, [owner], redis=redis, step=look, tries=1, kind=kind)
    return kind.made


def _refuse_while_cold(mirror: WindowMirror, redis: RedisClient) -> None:
    names = [mirror.name]
    names += [after.mirror for after in mirror.after]
    pipe = redis.pipeline(transaction=False)
    for name in names:
        pipe.get(naming.marker(name))
    if marker.generations(redis, names, pipe.execute()) is None:
        raise _Cold
