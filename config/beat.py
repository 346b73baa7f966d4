"""Beat's scheduler, and beat as a thread of a worker.

Celery's default would log two tracebacks every second for each task that the broker refuses. And it would fill a queue
while its worker is away: expired tasks stay there until a worker takes them.
"""

import logging
from typing import Any, Final

from celery.beat import EmbeddedService, PersistentScheduler
from celery.bootsteps import StartStopStep

from mirror.relay import send
from mirror.utils import FailureLog

failures: Final = FailureLog(logging.getLogger("celery.beat"))
BROKER: Final = "broker"


class Scheduler(PersistentScheduler):
    """A scheduler that logs once when the broker goes away, and once when it is back."""

    def schedules_equal(self, *args: Any, **kwargs: Any) -> bool:
        """Return True: the schedule is a setting. Celery compares all entries before each task."""
        return True

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Send one task, unless the last one of its kind still waits for a worker.

        Errors are only logged, because the next task of the same kind does the missed work.
        """
        try:
            if not send.is_waiting(entry.task, entry.args, channel=(producer or self.producer).channel):
                self.apply_async(entry, producer=producer, advance=False)
        except Exception as error:
            failures.add(BROKER, "Tasks cannot be sent: %s", error)
        else:
            failures.end(BROKER, "Tasks are sent again")


class BeatThread(StartStopStep):
    """Start beat as a thread of a worker with the option ``--beat-thread``.

    Celery's own option, ``--beat``, starts a process, which needs 75 MB more.
    """

    label = "beat as a thread"
    conditional = True  # only if enabled

    def __init__(self, worker: Any, beat_thread: bool = False, **kwargs: Any) -> None:
        super().__init__(worker, **kwargs)
        self.enabled = beat_thread

    def create(self, worker: Any) -> Any:
        """Return the thread. The worker starts and stops it."""
        names = {"schedule_filename": worker.schedule_filename, "scheduler_cls": worker.scheduler}
        return EmbeddedService(worker.app, thread=True, **names)
