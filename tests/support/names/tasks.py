"""Collect Celery tasks with their queues, the entries of beat, and the queues that workers serve."""

import re
from collections.abc import Iterator

from django.conf import settings

from config.celery import app
from tests.support.names.project import ROOT, is_own


def collect() -> list[str]:
    """Return tasks, routes, entries of beat, and the processes of the Procfile."""
    return sorted([*_tasks(), *_routes(), *_schedule(), *_processes()])


def _tasks() -> Iterator[str]:
    app.loader.import_default_modules()
    for name, task in app.tasks.items():
        if is_own(type(task).__module__):
            yield f"task {name}: queue {app.amqp.router.route({}, name)['queue'].name}"


def _routes() -> Iterator[str]:
    yield f"default queue: {settings.CELERY_TASK_DEFAULT_QUEUE}"
    for pattern, route in settings.CELERY_TASK_ROUTES.items():
        yield f"route {pattern}: queue {route['queue']}"


def _schedule() -> Iterator[str]:
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        when = entry["schedule"]
        yield f"beat {name}: {entry['task']} " + (f"every {when:g} s" if isinstance(when, float) else f"at {when}")


def _processes() -> Iterator[str]:
    for line in (ROOT / "Procfile").read_text(encoding="utf-8").splitlines():
        name, _, command = line.partition(": ")
        queues = re.search(r"--queues (\S+)", command)
        yield f"process {name}: queues {queues[1]}" if queues else f"process {name}"
