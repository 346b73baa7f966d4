"""The loop of the row cache: the daemon of ``manage.py rowcache run``, and the task that beat starts."""

import logging
import math
import threading
import time
from typing import Final

from django.conf import settings
from django.db import Error as DatabaseAway
from django.db import close_old_connections
from redis.exceptions import RedisError

from mirror.redis import RedisClient, naming, relay_client
from mirror.utils import FailureLog
from shop import keys
from shop.rowcache.plan import plan_sale_rows
from shop.rowcache.rows import ROWS_PER_CLAIM, cache_due_rows

logger = logging.getLogger("shop")

POLL_SECONDS: Final = 0.05  # pause between two reads of the schedule


def run_once(redis: RedisClient | None = None, *, look: bool = True) -> int:
    """Plan the rows of sales and cache all rows that are due. Return the number of cached rows.

    look: plan in any case; otherwise only if no process has planned recently. The number of rows is limited by the size
    of the schedule, because rows may be due again before all are cached. Raises redis-py's and Django's errors.
    """
    redis, total = redis or relay_client(), 0
    recently = naming.lease("rowplan")
    if look or redis.set(recently, 1, nx=True, px=int(settings.SHOP_PLAN_SECONDS * 1000)):
        plan_sale_rows(redis)
    # A limit, because with short delays the first rows are due again before the last are cached.
    most = redis.zcard(keys.row_schedule())
    while total < most:
        count = len(cache_due_rows(redis).ids)
        total += count
        if count < ROWS_PER_CLAIM:
            break
    return total


class RowCacheDaemon:
    """Cache rows until stopped.

    While Redis or SQL is away it logs that once and retries; other errors do not end it either. retry_seconds: the
    pause after a failed attempt.
    """

    def __init__(self, retry_seconds: float = 1.0) -> None:
        self.retry_seconds, self.stopped = retry_seconds, threading.Event()
        self.rows = 0  # cached so far
        self._planned_at = -math.inf
        self._failures = FailureLog(logger)

    def stop(self) -> None:
        """Stop after the current step."""
        self.stopped.set()

    def run(self) -> None:
        """Run until another thread or a signal handler calls ``stop``."""
        while not self.stopped.is_set():
            try:
                self.step()
            except (RedisError, DatabaseAway) as error:
                self._failures.add("away", "Rows wait: %s", error)
            # A bad row or a bug must not end the daemon, on which all rows depend.
            except Exception as error:
                self._failures.add("error", "Rows were not cached: %s", error, error=error)
            else:
                self._failures.end("away", "Rows wait no more")
                self._failures.end("error", "Rows are cached again")
                self.stopped.wait(POLL_SECONDS)
                continue
            # A connection that the database has closed would fail at every attempt.
            close_old_connections()
            self.stopped.wait(self.retry_seconds)

    def step(self) -> None:
        """Cache the rows that are due, and plan the rows of sales at intervals."""
        redis = relay_client()
        if time.monotonic() - self._planned_at >= settings.SHOP_PLAN_SECONDS:
            plan_sale_rows(redis)
            self._planned_at = time.monotonic()
            close_old_connections()
        self.rows += len(cache_due_rows(redis).ids)
