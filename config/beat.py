"""Beat's scheduler, and beat as a thread of a worker.

Celery's default would log two tracebacks every second for each task that the broker refuses. And it would fill a queue
while its worker is away: expired tasks stay there until a worker takes them.
"""

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

from celery.beat import EmbeddedService, PersistentScheduler
from celery.bootsteps import StartStopStep
from django.db import close_old_connections

from mirror.relay import send
from mirror.utils import FailureLog

failures: Final = FailureLog(logging.getLogger("celery.beat"))
BROKER: Final = "broker"
SHORT: Final = timedelta(seconds=10)  # tasks due at least so often take milliseconds when nothing is to be done
THREADS: Final = 4


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


class LocalScheduler(Scheduler):
    """A scheduler that runs the short tasks of every few seconds itself, in threads, without the broker.

    Sending, taking and acknowledging such a task costs several times its work when nothing is to be done.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.pool = ThreadPoolExecutor(THREADS, "beat")
        self.runs: dict[str, Future[None]] = {}
        super().__init__(*args, **kwargs)

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Start a short task, unless its last run goes on. Send one that is due less often."""
        if getattr(entry.schedule, "run_every", timedelta.max) > SHORT:  # a crontab has none
            super().apply_entry(entry, producer)
        elif entry.task not in self.runs or self.runs[entry.task].done():
            self.runs[entry.task] = self.pool.submit(self._run, entry)

    def _run(self, entry: Any) -> None:
        self.app.tasks[entry.task].apply(entry.args, entry.kwargs)  # logs errors
        close_old_connections()


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
        return EmbeddedService(
            worker.app, thread=True, schedule_filename=worker.schedule_filename, scheduler_cls=LocalScheduler
        )
