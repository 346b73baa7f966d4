"""Beat's scheduler. Celery's default would log two tracebacks every second for each task that the broker refuses."""

import logging
from typing import Any, Final

from celery.beat import PersistentScheduler

from mirror.utils import FailureLog

failures: Final = FailureLog(logging.getLogger("celery.beat"))
BROKER: Final = "broker"


class Scheduler(PersistentScheduler):
    """A scheduler that logs once when the broker goes away, and once when it is back."""

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Send one task. Errors are only logged, because the next task of the same kind does the missed work."""
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except Exception as error:
            failures.add(BROKER, "Tasks cannot be sent: %s", error)
        else:
            failures.end(BROKER, "Tasks are sent again")
