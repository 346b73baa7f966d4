"""Celery's side of accounts."""

import logging

from celery import shared_task
from django.conf import settings
from redis.exceptions import RedisError

from accounts import cleaning, letter_tasks
from mirror.lease import lease
from mirror.redis import is_away, relay_client

__all__ = ["clean_sessions", "letter_tasks"]
logger = logging.getLogger("accounts")

SECONDS = 20.0  # what one run may take; the next one goes on
LEASE_SECONDS = 60.0


@shared_task(name="accounts.tasks.clean_sessions")
def clean_sessions() -> int:
    """Keep the newest sessions, and end what has expired, unless somebody is at it. Returns how many have ended."""
    redis = relay_client()
    try:
        with lease(redis, "sessions", LEASE_SECONDS) as mine:
            if not mine:
                return 0
            done = cleaning.clean(settings.SESSION_LIMIT, seconds=SECONDS, redis=redis)
    except RedisError as error:
        if not is_away(error):
            raise
        logger.warning("Redis is away, sessions are cleaned later: %s", error)
        return 0
    return done.removed + done.expired
