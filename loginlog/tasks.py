"""Celery tasks of the login log. The generic task of backups flushes it."""

import logging

from celery import shared_task

from loginlog.archive import expiry
from loginlog.corrections import settling
from mirror.redis import work_or_wait

logger = logging.getLogger("loginlog")


@shared_task(name="loginlog.tasks.settle")
def settle() -> bool:
    """Write to Redis the writes that it missed while it was away. Beat runs this every few seconds."""
    return settling.settle_redis()


@shared_task(name="loginlog.tasks.expire")
def expire() -> int:
    """Remove expired months from Redis. Return the number of removed bitmaps. The next day's run retries failures."""
    return work_or_wait(
        lambda redis: sum(done.removed for done in expiry.expire_months()),
        0,
        logger,
        "Redis is away, nothing expires: %s",
    )
