"""What keeps the row cache running: the daemon of ``manage.py rowcache run``, and the task that beat asks for."""

import logging
import math
import threading
import time
from typing import Any, Final

from django.conf import settings
from django.db import Error as DatabaseAway
from django.db import close_old_connections
from redis.exceptions import RedisError

from mirror import naming
from mirror.failure_log import FailureLog
from mirror.redis import relay_client
from shop import keys
from shop.rowcache.plan import plan
from shop.rowcache.rows import TOGETHER, cache_due

logger = logging.getLogger("shop")

LOOK_SECONDS: Final = 0.05  # how often the schedule is


def run_once(redis: Any = None, *, look: bool = True) -> int:
    """Look at the sales (not ``look``: unless somebody did a moment ago), and cache everything that is due now.

    Returns how many rows that was: about as many as there are in the schedule at most, for some may be due again before
    all have been cached. Raises redis-py's and Django's errors.
    """
    redis, total = redis or relay_client(), 0
    recently = naming.lease("rowplan")
    if look or redis.set(recently, 1, nx=True, px=int(settings.SHOP_PLAN_SECONDS * 1000)):
        plan(redis)
    most = redis.zcard(keys.schedule())
    while total < most:
        count = len(cache_due(redis).ids)
        total += count
        if count < TOGETHER:
            break
    return total


class Daemon:
    """Caches rows until it is told to stop. With Redis or SQL away it waits, says so once, and goes on; nothing else
    that goes wrong ends it either. retry_seconds: until the next try, after one that failed.
    """

    def __init__(self, retry_seconds: float = 1.0) -> None:
        self.retry_seconds, self.stopped = retry_seconds, threading.Event()
        self.rows = 0  # that it has cached so far
        self._planned_at = -math.inf
        self._failures = FailureLog(logger)

    def stop(self) -> None:
        """End after what it is doing now."""
        self.stopped.set()

    def run(self) -> None:
        """Until ``stop`` is called (by another thread, or a signal)."""
        while not self.stopped.is_set():
            try:
                self.step()
            except (RedisError, DatabaseAway) as error:
                self._failures.add("away", "Rows wait: %s", error)
            except Exception as error:
                self._failures.add("error", "Rows were not cached: %s", error, error=error)
            else:
                self._failures.end("away", "Rows wait no more")
                self._failures.end("error", "Rows are cached again")
                self.stopped.wait(LOOK_SECONDS)
                continue
            close_old_connections()
            self.stopped.wait(self.retry_seconds)

    def step(self) -> None:
        """Cache what is due; now and then look at the sales."""
        redis = relay_client()
        if time.monotonic() - self._planned_at >= settings.SHOP_PLAN_SECONDS:
            plan(redis)
            self._planned_at = time.monotonic()
            close_old_connections()
        self.rows += len(cache_due(redis).ids)
