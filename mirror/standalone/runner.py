"""The relay in one process, without Celery: ``manage.py mirror run``.

It does the work of beat and of Celery's workers: drains a fraction of a second after each commit, sweeps, writes
heartbeats, rebuilds cold mirrors, pushes rows, warms windows and consumes visits. Several such
processes, also beside workers, share the work by the same leases.

New changes are found by notifications on PostgreSQL, and by polling.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from django.db import Error as DatabaseError
from django.db import connections
from redis.exceptions import RedisError

from mirror.conf import setting
from mirror.management import requested
from mirror.outbox import changes
from mirror.redis.clients import relay_client
from mirror.relay import drains, send
from mirror.standalone.notices import Listener
from mirror.upkeep import jobs, sweeper
from mirror.upkeep.heartbeat import Pulse
from mirror.utils.failure_log import FailureLog
from mirror.utils.throttle import Throttle
from mirror.visits import sweep as visits_sweep
from mirror.windows import jobs as window_jobs
from mirror.windows import push

logger = logging.getLogger("mirror")
RUN_SWEEP_SECONDS: Final = 1.0  # how often ``mirror run`` sweeps
THREADS: Final = 2  # for each kind of job, so that rebuilds do not delay pushes
REQUESTS: Final = 100  # of requests and the admin, taken in one round


class _Stopping(Exception):
    """The relay stops, so a rebuild is interrupted; the next relay continues it."""


class Relay:
    """A relay that runs until it is stopped. ``applied`` is the number of changes that it drained."""

    def __init__(self) -> None:
        self.applied = 0
        self._stopped = threading.Event()
        self._failures = FailureLog(logger)
        self._is_away = False
        self._sweeps = Throttle(lambda: RUN_SWEEP_SECONDS)
        self._newest: int | None = None  # the highest id of a pending change in the previous round
        self._jobs = _Jobs(
            {
                "rebuild": self._rebuild_mirror,
                "push": push.work,
                "warm": window_jobs.warm,
                "verify": jobs.verify,
                "perform": requested.perform,
                "consume_visits": visits_sweep.sweep,
            },
            self._failures,
        )

    def stop(self) -> None:
        """Stop after the present drain. Signal handlers may call it."""
        self._stopped.set()

    def run(self) -> None:
        """Run until ``stop`` is called. While Redis or SQL is away, wait for it."""
        pulse = Pulse()
        listener = Listener()
        pulse.start()
        try:
            with send.performed_by(self._jobs.start):
                while not self._stopped.is_set():
                    self._guarded_round()
                    listener.wait(self._stopped, float(setting("RUN_POLL_SECONDS")))
        finally:
            # Set also after an error: a rebuild in a thread then stops at its next chunk.
            self._stopped.set()
            listener.close()
            pulse.stop()
            self._jobs.end()
            pulse.join()

    def run_once(self) -> None:
        """Run one sweep and the jobs that it starts. Raises errors of Redis and SQL."""
        with send.performed_by(self._jobs.start):
            self._run_sweep()
            self._take_requests()
            self._jobs.wait()
        self._jobs.end()

    def _guarded_round(self) -> None:
        try:
            self._run_round()
        except Exception as error:
            self._is_away = True
            is_outage = isinstance(error, (RedisError, DatabaseError))
            text = "The relay waits, changes stay pending: %s"
            self._failures.add("relay", text, error, error=None if is_outage else error)
        else:
            self._is_away = False
            self._failures.end("relay", "The relay works again")
        finally:
            connections[changes.using()].close_if_unusable_or_obsolete()

    def _run_round(self) -> None:
        """Sweep if it is due, otherwise drain if there is a new change.

        After a failure each round sweeps, because only a sweep needs both Redis and SQL.
        """
        # A lower id may be committed later: the next sweep finds it.
        newest = changes.newest_unapplied()
        if self._is_away or self._sweeps.allows():
            self._run_sweep()
        elif newest != self._newest:
            self.applied += drains.drain_all(drains.SWEEP_BUDGET_SECONDS, redis=relay_client())
        self._newest = newest
        self._take_requests()

    def _take_requests(self) -> None:
        for name, args, options in send.take(relay_client(), REQUESTS):
            self._jobs.start(name, *args, **options)

    def _run_sweep(self) -> None:
        self.applied += sweeper.run_sweep(relay_client())

    def _rebuild_mirror(self, mirror: str, *, if_cold: bool = True) -> None:
        jobs.rebuild(mirror, if_cold=if_cold, progress=self._raise_if_stopped)

    def _raise_if_stopped(self, *args: object) -> None:
        if self._stopped.is_set():
            raise _Stopping


class _Jobs:
    """Jobs in threads. A job that waits for a thread is not started a second time."""

    def __init__(self, kinds: dict[str, Callable[..., object]], failures: FailureLog) -> None:
        self._kinds = kinds
        self._failures = failures
        self._pools = {name: ThreadPoolExecutor(THREADS, f"mirror-{name}") for name in kinds}
        self._waiting: set[str] = set()
        self._futures: set[Future[None]] = set()

    def start(self, name: str, *args: Any, **options: Any) -> bool:
        """Start a job with these arguments. Return whether this relay has such jobs."""
        if name not in self._kinds:
            return False
        job = f"{name}{args}"
        if job not in self._waiting:
            self._waiting.add(job)
            try:
                future = self._pools[name].submit(self._perform_job, job, name, args, options)
            except RuntimeError:
                # The relay stops.
                return False
            self._futures.add(future)
            future.add_done_callback(self._futures.discard)
        return True

    def wait(self) -> None:
        """Wait until all jobs are done, including those that they start."""
        while self._futures:
            for future in list(self._futures):
                future.result()

    def end(self) -> None:
        """Wait for the running jobs and forget the waiting ones."""
        for pool in self._pools.values():
            pool.shutdown(cancel_futures=True)

    def _perform_job(self, job: str, name: str, args: Any, options: Any) -> None:
        # Before the work: what changes during it needs the job once more.
        self._waiting.discard(job)
        try:
            self._kinds[name](*args, **options)
        except _Stopping:
            pass
        except Exception as error:
            is_outage = isinstance(error, (RedisError, DatabaseError))
            traceback = None if is_outage else error
            self._failures.add(job, "The relay could not finish %s: %s", job, error, error=traceback)
        else:
            self._failures.end(job, "The relay finished %s", job)
        finally:
            connections.close_all()
