"""A log of lasting failures: one line at the beginning and one at the end, and at most one of each an hour.

The state is in the process, because Redis is often the part that is away. A filter on the logger would not do: it never
learns that a failure is over.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable
from typing import Final
from weakref import WeakSet

from mirror.utils.bounded import Bounded
from mirror.utils.throttle import Throttle

FAILURE_LOG_SECONDS: Final = 3600.0  # how often a lasting failure is logged again

_all = WeakSet["FailureLog"]()


class FailureLog:
    """Count failures by key inside one process, and log each state at most once an hour.

    A failure that comes and goes within the hour is counted in the next line. clock: a monotonic one, in seconds.
    max_keys: with one more, the oldest is forgotten.
    """

    def __init__(
        self, logger: logging.Logger, *, clock: Callable[[], float] = time.monotonic, max_keys: int = 10_000
    ) -> None:
        self._logger = logger
        self._counts = Bounded[Hashable, int](max_keys)
        self._logged = Bounded[Hashable, bool](max_keys)  # whether the log knows of a failure that has not ended
        self._reminders = Throttle(lambda: FAILURE_LOG_SECONDS, clock=clock, max_keys=max_keys)
        self._lock = threading.Lock()
        _all.add(self)  # for reset_all

    def add(
        self,
        key: Hashable,
        text: str,
        *args: object,
        error: BaseException | None = None,
        log: logging.Logger | None = None,
        level: int = logging.ERROR,
    ) -> None:
        """Count a failure. Log the first one in an hour, with its traceback if ``error`` is given.

        log: the logger to use instead of the common one.
        """
        with self._lock:
            count = (self._counts.get(key) or 0) + 1
            self._counts.put(key, count)
        if not self._reminders.allows(key):
            return
        self._logged.put(key, True)
        log = log or self._logger
        if count == 1:
            log.log(level, text, *args, exc_info=error)
        else:
            log.log(level, "%s (%d times)", text % args, count)

    def end(self, key: Hashable, text: str, *args: object) -> None:
        """Log the end of a failure with the count; nothing without a failure in the log."""
        # The usual case, in every round trip.
        if not self._logged:
            return
        with self._lock:
            if not self._logged.get(key):
                return
            self._logged.forget(key)
            count = self._counts.get(key)
            self._counts.forget(key)
        self._logger.warning("%s (after %d failures)", text % args, count)

    def reset(self) -> None:
        """Forget every failure, like a new process."""
        self._counts.clear()
        self._logged.clear()
        self._reminders.reset()


def reset_all() -> None:
    """Forget the failures of this process (for tests)."""
    for log in _all:
        log.reset()
