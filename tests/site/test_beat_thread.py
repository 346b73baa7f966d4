"""Beat as a thread of a worker: short tasks run in its own threads, and all others are sent."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from celery import Task
from celery.schedules import crontab

from config.beat import SHORT_SECONDS, LocalScheduler
from config.celery import app
from mirror.relay import send
from tests.support.servers import wait_until

NAME = "tests.counted"
MakeScheduler = Callable[[], LocalScheduler]


class Counted:
    """A task that counts its starts and ends when it is told."""

    def __init__(self) -> None:
        self.starts, self.go_on = 0, threading.Event()
        self.task: Task[Any, Any] = app.task(self._run, name=NAME, shared=False)

    def _run(self) -> None:
        self.starts += 1
        self.go_on.wait()


@pytest.fixture
def counted() -> Iterator[Counted]:
    counted = Counted()
    yield counted
    counted.go_on.set()
    app.tasks.pop(NAME)


@pytest.fixture
def schedule(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the site's schedule by an empty one, and beat's file by a dictionary."""
    entries: dict[str, Any] = {}
    monkeypatch.setattr(LocalScheduler, "_store", {"entries": {}})
    monkeypatch.setattr(LocalScheduler, "setup_schedule", lambda self: self.merge_inplace(entries))
    return entries


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    monkeypatch.setattr(send, "is_waiting", lambda *args, **kwargs: False)
    monkeypatch.setattr(LocalScheduler, "apply_async", lambda self, entry, **kwargs: sent.append(entry.task))
    return sent


@pytest.fixture
def make_scheduler() -> Iterator[Callable[[], LocalScheduler]]:
    made: list[LocalScheduler] = []

    def make() -> LocalScheduler:
        made.append(LocalScheduler(app, schedule_filename="", max_interval=1))
        return made[-1]

    yield make
    for scheduler in made:
        scheduler.pool.shutdown(wait=False)


def test_a_short_task_runs_again_only_after_its_last_run(
    counted: Counted, schedule: dict[str, Any], sent: list[str], make_scheduler: MakeScheduler
) -> None:
    schedule["counted"] = {"task": NAME, "schedule": 0.001}
    scheduler = make_scheduler()
    scheduler.tick()
    wait_until(lambda: counted.starts == 1, "the first run")
    for _ in range(3):
        scheduler.short[0].due = 0.0
        scheduler.tick()
    assert counted.starts == 1
    counted.go_on.set()
    run = scheduler.short[0].run
    assert run
    wait_until(run.done, "its end")
    scheduler.short[0].due = 0.0
    scheduler.tick()
    wait_until(lambda: counted.starts == 2, "the second run")
    assert not sent


def test_a_tick_starts_what_is_due_and_returns_the_time_until_the_next(
    counted: Counted, schedule: dict[str, Any], sent: list[str], make_scheduler: MakeScheduler
) -> None:
    schedule["counted"] = {"task": NAME, "schedule": SHORT_SECONDS}
    scheduler = make_scheduler()
    pause = scheduler.tick()
    wait_until(lambda: counted.starts == 1, "the first run")
    counted.go_on.set()
    assert 0 <= pause <= SHORT_SECONDS
    scheduler.tick()  # nothing is due
    assert counted.starts == 1


@pytest.mark.parametrize("every", [SHORT_SECONDS * 2, crontab()], ids=["rare", "crontab"])
def test_a_rare_task_is_sent(
    counted: Counted,
    schedule: dict[str, Any],
    sent: list[str],
    make_scheduler: MakeScheduler,
    every: Any,
) -> None:
    schedule["counted"] = {"task": NAME, "schedule": every}
    scheduler = make_scheduler()
    assert not scheduler.short
    entry = scheduler.schedule["counted"]
    scheduler.apply_entry(entry)
    assert (sent, counted.starts) == ([NAME], 0)
