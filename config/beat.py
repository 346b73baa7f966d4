"""Beat's scheduler, and beat as a thread of a worker.

Celery's default would log two tracebacks every second for each task that the broker refuses. And it would fill a queue
while its worker is away: expired tasks stay there until a worker takes them.
"""

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from celery.beat import EmbeddedService, PersistentScheduler
from celery.bootsteps import StartStopStep
from celery.schedules import crontab
from django.db import close_old_connections

from mirror.relay import send
from mirror.utils import FailureLog

failures: Final = FailureLog(logging.getLogger("celery.beat"))
BROKER: Final = "broker"
SHORT_SECONDS: Final = 10.0  # tasks due at least so often take milliseconds when nothing is to be done
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


@dataclass
class Short:
    """A task of every few seconds. due: the monotonic time of its next run. run: the last one."""

    name: str
    seconds: float
    due: float = 0.0
    run: Future[None] | None = None


class LocalScheduler(Scheduler):
    """A scheduler that runs the short tasks of every few seconds itself, in threads, without the broker.

    Sending, taking and acknowledging such a task costs several times its work when nothing is to be done. So does
    Celery's way to find which task is due, which compares dates with time zones twice a task and second.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.pool = ThreadPoolExecutor(THREADS, "beat")
        self.short: list[Short] = []
        self._others_due = 0.0  # the monotonic time of the next task of the parent's schedule
        super().__init__(*args, **kwargs)

    def merge_inplace(self, b: dict[str, dict[str, Any]]) -> None:
        """Keep the short tasks of the setting here, and the others in the parent's schedule."""
        seconds = {name: entry["schedule"] for name, entry in b.items() if not isinstance(entry["schedule"], crontab)}
        short = {name for name, value in seconds.items() if value <= SHORT_SECONDS}
        self.short = [Short(b[name]["task"], seconds[name]) for name in sorted(short)]
        super().merge_inplace({name: entry for name, entry in b.items() if name not in short})

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Start the short tasks that are due, unless their last run goes on, and send one of the others if it is due.

        Return the seconds until the next call.
        """
        now = time.monotonic()
        for task in self.short:
            if task.due <= now:
                task.due = now + task.seconds
                if task.run is None or task.run.done():
                    task.run = self.pool.submit(self._run, task.name)
        if self._others_due <= now:
            self._others_due = now + super().tick(*args, **kwargs)
        return max(min([self._others_due, *(task.due for task in self.short)]) - time.monotonic(), 0.0)

    def _run(self, name: str) -> None:
        self.app.tasks[name].apply()  # logs errors
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
