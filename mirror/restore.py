"""What follows when SQL is replaced by a copy: Redis, emptied before, is filled from it."""

from mirror.conf import setting
from mirror.models import Identity
from mirror.outbox.identity import forget_identity
from mirror.redis import naming
from mirror.redis.types import RedisClient
from mirror.upkeep import rebuild
from mirror.utils.callbacks import ProgressCallback, ignore
from mirror.visits.restoring import restore_all
from mirror.warm import rewind

__all__ = ["fill_redis", "forget_history", "is_relay_running"]


def is_relay_running(redis: RedisClient) -> bool:
    """Return whether a relay ran within the last ``HEARTBEAT_SECONDS``."""
    return bool(redis.exists(naming.heartbeat()))


def forget_history() -> None:
    """Give SQL, which was just loaded from a copy, another identity.

    A Redis that comes back from an older file must not take this history for its own.
    """
    Identity.objects.using(setting("DATABASE")).all().delete()
    forget_identity()
    rewind.forget()


def fill_redis(redis: RedisClient, progress: ProgressCallback = ignore) -> None:
    """Rebuild all mirrors, and restore what visits left in Redis. Redis must be empty, and no relay may run."""
    rebuild.rebuild([], progress=progress)
    # It is one of the rebuild: no relay runs yet.
    redis.delete(naming.heartbeat())
    restore_all(redis)
