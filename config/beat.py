"""Beat's scheduler. Celery's own logs two tracebacks for each task that the broker does not take, every second."""

import logging
from typing import Any, Final

from celery.beat import PersistentScheduler

from mirror.failure_log import FailureLog

failures: Final = FailureLog(logging.getLogger("celery.beat"))
BROKER: Final = "broker"


class Scheduler(PersistentScheduler):
    """Logs a broker that is away once, and once when it is back."""

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Send one task. The next one of its kind makes up for it, so an error ends nothing."""
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except Exception as error:
            failures.add(BROKER, "Tasks cannot be sent: %s", error)
        else:
            failures.end(BROKER, "Tasks are sent again")
