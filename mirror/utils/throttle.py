"""A throttle inside one process: it allows a request once per interval, for all threads together."""

import threading
import time
from collections.abc import Callable, Hashable

from mirror.utils.bounded import Bounded


class Throttle:
    """Allow each key once per interval.

    interval: returns the seconds. clock: a monotonic one, in seconds. max_keys: with one more, the oldest is forgotten.
    """

    def __init__(
        self,
        interval: Callable[[], float],
        *,
        clock: Callable[[], float] = time.monotonic,
        max_keys: int = 10_000,
    ) -> None:
        self.interval = interval
        self.clock = clock
        self._allowed_at = Bounded[Hashable, float](max_keys)
        self._lock = threading.Lock()

    def allows(self, key: Hashable = None) -> bool:
        """Return whether the interval has passed for ``key``. A new one then begins."""
        now = self.clock()
        seconds = self.interval()
        # Of several threads, one is the first.
        with self._lock:
            allowed_at = self._allowed_at.get(key)
            if allowed_at is not None and now - allowed_at < seconds:
                return False
            self._allowed_at.put(key, now)
            return True

    def reset(self) -> None:
        """Forget every key, like a new process."""
        self._allowed_at.clear()
