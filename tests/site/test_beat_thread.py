"""Beat as a thread of a worker: short tasks run in its own threads, and all others are sent."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import Task
from celery.beat import ScheduleEntry
from celery.schedules import schedule

from config.beat import SHORT, LocalScheduler
from config.celery import app
from mirror.relay import send
from tests.support.servers import wait_until


class Counted:
    """A task that counts its starts and ends when it is told."""

    def __init__(self) -> None:
        self.starts, self.go_on = 0, threading.Event()
        self.task: Task[Any, Any] = app.task(self._run, name="tests.counted", shared=False)

    def _run(self) -> None:
        self.starts += 1
        self.go_on.wait()


@pytest.fixture
def counted() -> Iterator[Counted]:
    counted = Counted()
    yield counted
    counted.go_on.set()
    app.tasks.pop("tests.counted")


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalScheduler]:
    """Make beat's scheduler without its file."""
    monkeypatch.setattr(LocalScheduler, "setup_schedule", lambda self: None)
    scheduler = LocalScheduler(app, schedule_filename="", max_interval=1)
    yield scheduler
    scheduler.pool.shutdown()


def _entry(every: timedelta) -> ScheduleEntry:
    return ScheduleEntry(name="counted", task="tests.counted", schedule=schedule(every), app=app)


def test_a_short_task_runs_again_only_after_its_last_run(counted: Counted, scheduler: LocalScheduler) -> None:
    for _ in range(3):
        scheduler.apply_entry(_entry(SHORT))
    wait_until(lambda: counted.starts == 1, "the first run")
    counted.go_on.set()
    wait_until(scheduler.runs["tests.counted"].done, "its end")
    assert counted.starts == 1
    scheduler.apply_entry(_entry(SHORT))
    wait_until(lambda: counted.starts == 2, "the second run")


def test_a_rare_task_is_sent(counted: Counted, scheduler: LocalScheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(send, "is_waiting", lambda *args, **kwargs: False)
    monkeypatch.setattr(scheduler, "apply_async", lambda entry, **kwargs: sent.append(entry.task))
    scheduler.apply_entry(_entry(SHORT * 2))
    assert (sent, counted.starts) == (["tests.counted"], 0)
