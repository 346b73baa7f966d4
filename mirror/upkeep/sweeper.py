"""The sweep: regular work that does not depend on hints. Beat requests it every second."""

import logging

from mirror import registry
from mirror.extensions import list_extensions
from mirror.outbox import changes, lag
from mirror.outbox.identity import database_identity
from mirror.redis.clients import work_or_wait
from mirror.redis.lease import lease
from mirror.redis.types import RedisClient
from mirror.relay import drains, send
from mirror.upkeep import replay
from mirror.verify import background
from mirror.warm import marker, rewind, triggers

logger = logging.getLogger("mirror")


def sweep(redis: RedisClient | None = None) -> int:
    """Replay for a new incarnation, request rebuilds and the consumption of visits, drain and purge.

    Return the number of applied changes. Do nothing while another process sweeps or Redis is away: the next sweep
    follows a second later.
    """
    return work_or_wait(run_sweep, 0, logger, "Redis is away, changes wait: %s", redis=redis)


def run_sweep(redis: RedisClient) -> int:
    """Do the work of ``sweep``. Return the number of applied changes, 0 while another process sweeps.

    Raises redis-py's errors when Redis is away.
    """
    # Every process looks for missing triggers, not only the one with the lease: they lose changes, and the sweep of
    # another process may take long.
    triggers.watch(redis)
    for extension in list_extensions():
        extension.before_sweep(redis)
    with lease(redis, "sweep") as is_mine:
        return _sweep_alone(redis) if is_mine else 0


def _sweep_alone(redis: RedisClient) -> int:
    checked = replay.check(redis)
    blocked = triggers.watch(redis)
    lag.note_if_due(redis)  # before the drain, which ends the delays that it measures
    # Before the drain, which may use all the time while readers wait for rebuilds.
    names = [mirror.name for mirror in registry.all_mirrors() if mirror.name not in blocked]
    for name in marker.list_cold(redis, names):
        # While no worker takes tasks, each mirror has one in the queue, and not one more every second.
        if not send.is_rebuild_waiting(name):
            send.rebuild(name)
    for extension in list_extensions():
        extension.sweep(redis)
    seconds = drains.SWEEP_BUDGET_SECONDS
    applied = drains.drain_all(seconds, redis=redis)
    triggers.watch(redis)
    deadline = drains.Deadline(seconds)
    # Before the purge, which keeps the witness and all later changes.
    witness = rewind.renew(redis, database_identity())
    while changes.purge(below=witness) == changes.PURGE and not deadline.passed():
        pass
    background.step_if_due(redis)
    replay.write_clock(redis, checked)
    return applied
