"""Celery's side of the relay."""

import logging

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from redis.exceptions import RedisError

from mirror import push as pushing
from mirror import rebuild as rebuilding
from mirror import registry, relay, sweeper, window
from mirror import verify as verifying
from mirror.backup import flush as flushing
from mirror.backup import registry as backups
from mirror.backup import restore as restoring
from mirror.backup import sweep as backup_sweep
from mirror.backup import verify as comparing
from mirror.declare import WindowMirror
from mirror.heartbeat import Pulse
from mirror.session import Conflict

logger = logging.getLogger("mirror")
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
    """Drain these keys: what did not fit a request's budget. The sweep does what cannot be done now."""
    try:
        return relay.drain_keys(mirror, keys)[0]
    except RedisError as error:
        logger.warning("Redis is away, changes wait: %s", error)
        return 0


@shared_task(name="mirror.tasks.push")
def push(mirror: str, source: str, keys: list[str]) -> int:
    """Push these rows (none: all that are pending) for a while, then leave the rest to another task."""
    try:
        return pushing.work(mirror, source, keys)
    except RedisError as error:
        logger.warning("Redis is away, changes wait: %s", error)
        return 0


@shared_task(name="mirror.tasks.sweep")
def sweep() -> int:
    """One round of everything that has to be done regularly. Beat asks every second."""
    return sweeper.sweep()


@shared_task(name="mirror.tasks.rebuild")
def rebuild(mirror: str, *, if_cold: bool = True) -> int:
    """Rebuild a mirror (only if it is cold), unless somebody is at it. Returns the rows written."""
    if if_cold:
        return rebuilding.rebuild_if_cold(mirror)
    return sum(done.rows for done in rebuilding.rebuild([mirror]))


@shared_task(name="mirror.tasks.warm")
def warm(mirror: str, owner: str) -> bool:
    """Make a lazy window that a reader found cold. Returns whether it is there."""
    found = registry.get(mirror)
    assert isinstance(found, WindowMirror)
    try:
        return window.warm(found, owner)
    except (RedisError, Conflict) as error:
        logger.warning("The window %s of %s stays cold: %s", owner, mirror, error)
        return False


@shared_task(name="mirror.tasks.verify")
def verify(mirror: str) -> int:
    """Compare a mirror with SQL, both ways, and note what was found. Returns the number of differences."""
    return len(verifying.verify([mirror]))


@shared_task(name="mirror.tasks.flush_backups")
def flush_backups() -> int:
    """One round over all backups: flush what is due, restore what was lost. Beat asks every second."""
    return backup_sweep.sweep()


@shared_task(name="mirror.tasks.flush_backup")
def flush_backup(backup: str) -> int:
    """Take everything that is marked in a backup to SQL, also what was set aside. Returns the items written."""
    return flushing.flush(backups.get(backup), again=True).items


@shared_task(name="mirror.tasks.restore_backup")
def restore_backup(backup: str) -> int:
    """Put back everything that SQL has. Returns the items that were looked at."""
    return restoring.restore(backups.get(backup), again=True).items


@shared_task(name="mirror.tasks.verify_backup")
def verify_backup(backup: str) -> int:
    """Compare a backup with SQL, both ways, and note what was found. Returns the number of differences."""
    return len(comparing.verify(backups.get(backup)))
