"""Celery tasks of the login log. The generic task of backups flushes it."""

import logging

from celery import shared_task
from redis.exceptions import RedisError

from loginlog.archive import expiry
from loginlog.corrections import settling

logger = logging.getLogger("loginlog")


@shared_task(name="loginlog.tasks.settle")
def settle() -> bool:
    """Write to Redis the writes that it missed while it was away. Beat runs this every few seconds."""
    return settling.settle_redis()


@shared_task(name="loginlog.tasks.expire")
def expire() -> int:
    """Remove expired months from Redis. Return the number of removed bitmaps. The next day's run retries failures."""
    try:
        return sum(done.removed for done in expiry.expire_months())
    except RedisError as error:
        logger.warning("Redis is away, nothing expires: %s", error)
        return 0
