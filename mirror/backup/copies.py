"""Copies of SQL that have every item which Redis has first, and a Redis that is filled from such a copy."""

from collections.abc import Callable
from typing import Final, TypeVar

from mirror.backup import registry
from mirror.backup.epoch import Over
from mirror.backup.flush import flush, save_marked
from mirror.backup.pause import pause_writes
from mirror.backup.restore import restore
from mirror.conf import setting
from mirror.models import Identity
from mirror.read import marker, rewind
from mirror.redis import naming
from mirror.redis.types import RedisClient
from mirror.relay import rebuild
from mirror.utils.callbacks import ProgressCallback, Step, ignore

__all__ = ["TRIES", "fill_redis", "forget_history", "is_relay_running", "take_at_pause"]
T = TypeVar("T")
TRIES: Final = 5  # how often a copy looks for a moment


def take_at_pause(take: Callable[[], T], discard: Callable[[T], object], redis: RedisClient, step: Step) -> T | None:
    """Return the result of ``take``, called at a moment at which SQL has everything that Redis has first.

    Items are flushed before, so few are left for the moment in which writes to Redis wait. Marks stay: the next flush
    writes their items again, which changes nothing. None: SQL was too slow ``TRIES`` times; ``discard`` gets the
    results that came too late. step: called with "pause" before each moment.
    """
    for _ in range(TRIES):
        for backup in registry.all_backups():
            flush(backup, redis=redis)
        step("pause")
        with pause_writes(redis) as is_paused:
            try:
                for backup in registry.all_backups():
                    save_marked(backup, redis)
            except Over:  # Redis was lost: the next flush begins a new epoch
                continue
            taken = take()
            if is_paused():
                return taken
            discard(taken)
    return None


def is_relay_running(redis: RedisClient) -> bool:
    """Return whether a relay ran within the last ``HEARTBEAT_SECONDS``."""
    return bool(redis.exists(naming.heartbeat()))


def forget_history() -> None:
    """Give SQL, which was just loaded from a copy, another identity.

    A Redis that comes back from an older file must not take this history for its own.
    """
    Identity.objects.using(setting("DATABASE")).all().delete()
    marker.database_identity.cache_clear()
    rewind.forget()


def fill_redis(redis: RedisClient, progress: ProgressCallback = ignore) -> None:
    """Restore all backups and rebuild all mirrors from SQL. Redis must be empty, and no relay may run."""
    for backup in registry.all_backups():
        restore(backup, again=True, redis=redis, progress=progress)
    rebuild.rebuild([], progress=progress)
    redis.delete(naming.heartbeat())  # of the rebuild: no relay runs yet
