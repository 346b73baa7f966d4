"""Sending tasks to Celery from a request: it must never fail, and never take long.

``.delay()`` can hang when the broker is away (celery#4296): Celery's own producers wait for as long as its workers
may, and try again. So hints have producers of their own, which do not, and the first failure silences them for a
while; the sweep that beat starts does what was not sent.
"""

import logging
from collections.abc import Sequence
from typing import Any

import kombu.pools
from celery import current_app

from mirror import recorder
from mirror.conf import setting
from mirror.failure_log import FailureLog
from mirror.redis import Breaker
from mirror.throttle import Throttle

troubles = FailureLog(logging.getLogger("mirror"))
broker = Breaker()
sweep_requests = Throttle("SWEEP_REQUEST_SECONDS")
MOST = 1000  # keys in one task
UNBOUNDED_SECONDS = 3600.0  # recorded for a connection without a time-out
failures = 0  # hints that could not be sent by this process


def drain(mirror: str, keys: list[str]) -> None:
    """Ask for a drain of these keys soon."""
    for start in range(0, len(keys), MOST):
        _hint("drain_keys", args=(mirror, keys[start : start + MOST]))


def sweep() -> None:
    """Ask for a sweep soon."""
    _hint("sweep", expires=10)


def sweep_soon() -> None:
    """Ask for a sweep, at most every few seconds: a reader found a mirror cold."""
    if sweep_requests.allows():
        sweep()


def rebuild(mirror: str, *, if_cold: bool = True) -> bool:
    """Ask for a rebuild of this mirror. Returns whether the broker took it."""
    return _hint("rebuild", args=(mirror,), kwargs={"if_cold": if_cold}, expires=60)


def push(mirror: str, source: str, keys: Sequence[str] = ()) -> bool:
    """Ask for these rows (none: all that are pending) to be pushed soon. Returns whether the broker took it all."""
    expires = None if keys else 10
    parts = [list(keys[start : start + MOST]) for start in range(0, len(keys), MOST)] or [[]]
    return all(_hint("push", args=(mirror, source, part), expires=expires) for part in parts)


def warm(mirror: str, owner: str) -> bool:
    """Ask for a lazy window to be made. Returns whether the broker took it."""
    return _hint("warm", args=(mirror, owner), expires=60)


def verify(mirror: str) -> bool:
    """Ask for a verification of this mirror. Returns whether the broker took it."""
    return _hint("verify", args=(mirror,), expires=600)


def flush_backup(backup: str) -> bool:
    """Ask for a flush of this backup. Returns whether the broker took it."""
    return _hint("flush_backup", args=(backup,), expires=60)


def restore_backup(backup: str) -> bool:
    """Ask for everything in this backup to be put back. Returns whether the broker took it."""
    return _hint("restore_backup", args=(backup,), expires=60)


def verify_backup(backup: str) -> bool:
    """Ask for a verification of this backup. Returns whether the broker took it."""
    return _hint("verify_backup", args=(backup,), expires=600)


def _hint(name: str, **options: Any) -> bool:
    return task(f"mirror.tasks.{name}", **options)


def task(name: str, **options: Any) -> bool:
    """Send any task, by its name: what asks for a task is often what the task is made of, and cannot import it.

    options: as Celery's ``send_task`` takes them. Returns whether the broker took it; never raises.
    """
    global failures
    if broker.open():
        return False
    # Not the time-out of workers: they wait for tasks on their connections.
    seconds = float(setting("BROKER_TIMEOUT_SECONDS"))
    hasty = {"max_retries": 0, "socket_timeout": seconds, "socket_connect_timeout": seconds}
    connection = current_app.connection_for_write(transport_options=hasty)
    try:
        with kombu.pools.producers[connection].acquire(block=True, timeout=seconds) as producer:
            current_app.send_task(name, producer=producer, retry=False, ignore_result=True, **options)
    except Exception as error:  # whatever kombu and its transports raise
        failures += 1
        recorder.timed_out(connection.transport_options.get("socket_timeout", UNBOUNDED_SECONDS))
        broker.failed()
        troubles.add("broker", "The broker did not take a hint, the sweep will do it: %s", error)
        return False
    troubles.end("broker", "The broker takes hints again")
    return True
