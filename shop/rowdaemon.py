"""What keeps the row cache running: the daemon of ``manage.py rowcache run``, and the task that beat asks for."""

import logging
import threading
import time
from typing import Any, Final

from django.db import DatabaseError, close_old_connections
from redis.exceptions import RedisError

from mirror.lease import lease
from mirror.redis import relay_client
from shop.rowcache import TOGETHER, cache_due
from shop.rowplan import plan

logger = logging.getLogger("shop")

PLAN_SECONDS: Final = 5.0  # how often the sales are looked at
LOOK_SECONDS: Final = 0.05  # how often the schedule is
AGAIN_SECONDS: Final = 1.0  # after which Redis or SQL, when it was away, is tried again
LEASE_SECONDS: Final = 10.0


def run_once(redis: Any = None) -> int:
    """Look at the sales, and cache everything that is due now. Returns how many rows that was."""
    redis = redis or relay_client()
    with lease(redis, "rowplan", LEASE_SECONDS) as mine:
        if mine:
            plan(redis)
    return _cache_all(redis)


def _cache_all(redis: Any) -> int:
    total = 0
    while count := len(cache_due(redis).ids):
        total += count
        if count < TOGETHER:
            break
    return total


class Daemon:
    """Caches rows until it is told to stop. With Redis or SQL away it waits, says so once, and goes on."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.rows = 0  # that it has cached so far
        self._planned_at = -PLAN_SECONDS
        self._is_away = False

    def stop(self) -> None:
        """End after what it is doing now."""
        self.stopped.set()

    def run(self) -> None:
        """Until ``stop`` is called (by another thread, or a signal)."""
        while not self.stopped.is_set():
            try:
                self.step()
                self._is_away = False
                self.stopped.wait(LOOK_SECONDS)
            except (RedisError, DatabaseError) as error:
                if not self._is_away:
                    logger.warning("Rows wait: %s", error)
                self._is_away = True
                close_old_connections()
                self.stopped.wait(AGAIN_SECONDS)

    def step(self) -> None:
        """Cache what is due; now and then look at the sales."""
        redis = relay_client()
        if time.monotonic() - self._planned_at >= PLAN_SECONDS:
            plan(redis)
            self._planned_at = time.monotonic()
            close_old_connections()
        self.rows += len(cache_due(redis).ids)
