"""A circuit breaker, so that a hung server costs one time-out."""

import time
from collections.abc import Callable

from mirror.conf import setting


class Breaker:
    """Leaves Redis alone for a while after a failure, so that a hung server costs one time-out, not many.

    Each process has one. After a failure every call fails at once until the time is over. The next call then
    decides again. clock: a monotonic one, in seconds. duration: returns the length of this time in seconds.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        duration: Callable[[], float] = lambda: float(setting("BREAKER_SECONDS")),
    ) -> None:
        self._clock, self._duration, self._until, self._doubtful_until = clock, duration, 0.0, 0.0

    def open(self) -> bool:
        """Return whether Redis must be left alone now."""
        return self._clock() < self._until

    def failed(self) -> None:
        """Record that Redis did not answer."""
        self._until = self._clock() + self._duration()
        self._doubtful_until = self._clock() + float(setting("HEARTBEAT_SECONDS"))

    def failed_lately(self) -> bool:
        """Return whether the last failure is more recent than the oldest heartbeat that readers believe."""
        return self._clock() < self._doubtful_until

    def reset(self) -> None:
        """Forget the failure."""
        self._until = self._doubtful_until = 0.0
