"""The sweep: regular work that does not depend on hints. Beat requests it every second."""

import logging

from redis.exceptions import RedisError

from mirror import marker, outbox, push, registry, relay, replay, send, triggers
from mirror.conf import setting
from mirror.lease import lease
from mirror.redis import is_away, relay_client
from mirror.redis_types import RedisClient

logger = logging.getLogger("mirror")


def sweep(redis: RedisClient | None = None) -> int:
    """Replay for a new incarnation, request rebuilds, drain and purge. Return the number of applied changes.

    Do nothing while another process sweeps or Redis is away: the next sweep follows a second later.
    """
    redis = redis or relay_client()
    try:
        triggers.watch(redis)  # without the lease, because another process's sweep may take long
        with lease(redis, "sweep") as mine:
            return _sweep(redis) if mine else 0
    except RedisError as error:
        if not is_away(error):
            raise
        logger.warning("Redis is away, changes wait: %s", error)
        return 0


def _sweep(redis: RedisClient) -> int:
    checked, blocked = replay.check(redis), triggers.watch(redis)
    # before the drain, which may use all the time while readers wait for rebuilds
    for mirror in registry.all_mirrors():
        if mirror.name not in blocked and not marker.is_warm(redis, mirror.name):
            send.rebuild(mirror.name)
    push.send_pending(redis)
    seconds = float(setting("SWEEP_BUDGET_SECONDS"))
    applied = relay.drain_all(seconds, redis=redis)
    triggers.watch(redis)
    deadline = relay.Deadline(seconds)
    while outbox.purge() == outbox.PURGE and not deadline.passed():
        pass
    replay.write_clock(redis, checked)
    return applied
