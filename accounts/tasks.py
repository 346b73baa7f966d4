"""Celery's side of accounts."""

import logging
from typing import Final

from celery import shared_task
from django.conf import settings
from redis.exceptions import RedisError

from accounts import cleaning, letter_tasks
from mirror.lease import lease
from mirror.redis import is_away, relay_client

__all__ = ["clean_sessions", "letter_tasks"]
logger = logging.getLogger("accounts")

SPARE_SECONDS: Final = 40.0  # for which the lease outlasts a run


@shared_task(name="accounts.tasks.clean_sessions")
def clean_sessions() -> int:
    """Keep the newest sessions, and end what has expired, unless somebody is at it. Returns how many have ended."""
    redis = relay_client()
    try:
        with lease(redis, "sessions", settings.SESSION_CLEAN_SECONDS + SPARE_SECONDS) as mine:
            if not mine:
                return 0
            done = cleaning.clean(settings.SESSION_LIMIT, seconds=settings.SESSION_CLEAN_SECONDS, redis=redis)
    except RedisError as error:
        if not is_away(error):
            raise
        logger.warning("Redis is away, sessions are cleaned later: %s", error)
        return 0
    return done.removed + done.expired
