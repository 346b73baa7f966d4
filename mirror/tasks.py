"""The mirror's Celery tasks."""

import logging
from typing import Final

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from redis.exceptions import RedisError

from mirror import registry
from mirror.backup import flush as flushing
from mirror.backup import registry as backups
from mirror.backup import restore as restoring
from mirror.backup import sweep as backup_sweep
from mirror.backup import verify as comparing
from mirror.declare.mirrors import WindowMirror
from mirror.redis.clients import work_or_wait
from mirror.redis.session import Conflict
from mirror.relay import drains, sweeper
from mirror.relay import rebuild as rebuilding
from mirror.relay.heartbeat import Pulse
from mirror.verify import runs as verifying
from mirror.windows import push as pushing
from mirror.windows import window

logger = logging.getLogger("mirror")
_WAITING: Final = "Redis is away, changes wait: %s"
_pulse: list[Pulse] = []


@worker_ready.connect
def _start_pulse(**kwargs: object) -> None:
    _pulse.append(Pulse())
    _pulse[-1].start()


@worker_shutting_down.connect
def _stop_pulse(**kwargs: object) -> None:
    while _pulse:
        _pulse.pop().stop()


@shared_task(name="mirror.tasks.drain_keys")
def drain_keys(mirror: str, keys: list[str]) -> int:
    """Drain these keys, which did not fit a request's budget. After an error, the sweep drains them."""
    return work_or_wait(lambda redis: drains.drain_keys(mirror, keys, redis=redis)[0], 0, logger, _WAITING)


@shared_task(name="mirror.tasks.push")
def push(mirror: str, source: str, keys: list[str]) -> int:
    """Push these rows (none: all pending ones) for a while, and leave the rest to another task."""
    return work_or_wait(lambda redis: pushing.work(mirror, source, keys), 0, logger, _WAITING)


@shared_task(name="mirror.tasks.sweep")
def sweep() -> int:
    """Run one sweep. Beat requests it every second."""
    return sweeper.sweep()


@shared_task(name="mirror.tasks.rebuild")
def rebuild(mirror: str, *, if_cold: bool = True) -> int:
    """Rebuild a mirror (only if it is cold), unless another process does. Return the number of rows."""
    if if_cold:
        return rebuilding.rebuild_if_cold(mirror)
    return sum(done.rows for done in rebuilding.rebuild([mirror]))


@shared_task(name="mirror.tasks.warm")
def warm(mirror: str, owner: str) -> bool:
    """Warm a lazy window that a reader found cold. Return whether it exists."""
    found = registry.get(mirror)
    assert isinstance(found, WindowMirror)
    try:
        return window.warm(found, owner)
    except (RedisError, Conflict) as error:
        logger.warning("The window %s of %s stays cold: %s", owner, mirror, error)
        return False


@shared_task(name="mirror.tasks.verify")
def verify(mirror: str) -> int:
    """Verify a mirror in both directions, and save the result. Return the number of differences."""
    return len(verifying.verify([mirror]))


@shared_task(name="mirror.tasks.flush_backups")
def flush_backups() -> int:
    """Run one sweep of the backups: flush due ones and restore lost ones. Beat requests it every second."""
    return backup_sweep.sweep()


@shared_task(name="mirror.tasks.flush_backup")
def flush_backup(backup: str) -> int:
    """Flush all marked items of a backup, including quarantined ones. Return the number of written items."""
    return flushing.flush(backups.get(backup), again=True).items


@shared_task(name="mirror.tasks.restore_backup")
def restore_backup(backup: str) -> int:
    """Restore all items of a backup from SQL. Return the number of processed items."""
    return restoring.restore(backups.get(backup), again=True).items


@shared_task(name="mirror.tasks.verify_backup")
def verify_backup(backup: str) -> int:
    """Verify a backup in both directions, and save the result. Return the number of differences."""
    return len(comparing.verify(backups.get(backup)))
