"""Celery's side of the login log. (Beat flushes it as it does every backup.)"""

import logging

from celery import shared_task
from redis.exceptions import RedisError

from loginlog import expiry, filling

logger = logging.getLogger("loginlog")


@shared_task(name="loginlog.tasks.settle")
def settle() -> bool:
    """Bring Redis what was written to SQL while it was away. Beat asks every few seconds."""
    return filling.settle()


@shared_task(name="loginlog.tasks.expire")
def expire() -> int:
    """Take what is old enough out of Redis. Returns how many bitmaps. What fails is tried again tomorrow."""
    try:
        return sum(done.removed for done in expiry.expire())
    except RedisError as error:
        logger.warning("Redis is away, nothing expires: %s", error)
        return 0
