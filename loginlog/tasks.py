"""Celery tasks of the login log."""

import logging

from celery import shared_task

from loginlog.archive import expiry
from loginlog.storage.synchronization import sync_months
from mirror.redis import work_or_wait

logger = logging.getLogger("loginlog")


@shared_task(name="loginlog.tasks.sync")
def sync() -> int:
    """Compare the current months in SQL and Redis. Return the number of repaired differences."""
    return work_or_wait(
        lambda redis: sync_months(redis).repaired, 0, logger, "Redis is away, the login log is not compared: %s"
    )


@shared_task(name="loginlog.tasks.expire")
def expire() -> int:
    """Remove expired months from Redis. Return the number of removed bitmaps. The next day's run retries failures."""
    return work_or_wait(
        lambda redis: sum(done.removed for done in expiry.expire_months()),
        0,
        logger,
        "Redis is away, nothing expires: %s",
    )
