"""The mirror's Celery tasks."""

import logging
from typing import Final

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down

from mirror.management import requested
from mirror.redis.clients import work_or_wait
from mirror.relay import drains
from mirror.upkeep import jobs, sweeper
from mirror.upkeep.heartbeat import Pulse
from mirror.visits import sweep as visits_sweep
from mirror.windows import jobs as window_jobs
from mirror.windows import push as pushing

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


@shared_task(name="mirror.tasks.rebuild")
def rebuild(mirror: str, *, if_cold: bool = True) -> int:
    """Rebuild a mirror (only if it is cold). The sweep requests the rebuild again if Redis goes away."""
    return work_or_wait(lambda redis: jobs.rebuild(mirror, if_cold=if_cold), 0, logger, _WAITING)


@shared_task(name="mirror.tasks.sweep")
def sweep() -> int:
    """Run one sweep. Beat requests it every second."""
    return sweeper.sweep()


@shared_task(name="mirror.tasks.consume_visits")
def consume_visits() -> int:
    """Write waiting visits to SQL, and restore what Redis lost of them. The sweep requests it."""
    return visits_sweep.sweep()


perform, warm, verify = (
    shared_task(name=f"mirror.tasks.{job.__name__}")(job) for job in (requested.perform, window_jobs.warm, jobs.verify)
)
