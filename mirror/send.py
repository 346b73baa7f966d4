"""Sending tasks to Celery from a request: it must never fail, and never take long.

``.delay()`` can hang when the broker is away (celery#4296), so the first failure silences it for a while; the
sweep that beat starts does what was not sent.
"""

import logging
from collections.abc import Callable
from typing import Any

from mirror.redis import Breaker

logger = logging.getLogger("mirror")
broker = Breaker()
MOST = 1000  # keys in one task
failures = 0  # hints that could not be sent by this process


def drain(mirror: str, keys: list[str]) -> None:
    """Ask for a drain of these keys soon."""
    from mirror.tasks import drain_keys

    for start in range(0, len(keys), MOST):
        _send(drain_keys.apply_async, args=(mirror, keys[start : start + MOST]))


def sweep() -> None:
    """Ask for a sweep soon: a reader found a mirror cold."""
    from mirror.tasks import sweep as task

    _send(task.apply_async, expires=10)


def rebuild(mirror: str) -> None:
    """Ask for a rebuild of this mirror."""
    from mirror.tasks import rebuild as task

    _send(task.apply_async, args=(mirror,), expires=60)


def _send(apply_async: Callable[..., Any], **options: Any) -> None:
    global failures
    if broker.open():
        return
    try:
        apply_async(retry=False, ignore_result=True, **options)
    except Exception as error:  # whatever kombu and its transports raise
        failures += 1
        broker.failed()
        logger.warning("The broker did not take a hint, the sweep will do it: %s", error)
