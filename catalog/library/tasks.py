"""Celery tasks."""

import logging

from celery import shared_task

from catalog.library.services import TASK, find_working, run_import
from mirror.redis import RedisClient, lease, work_or_wait
from mirror.relay import send

logger = logging.getLogger("catalog")


@shared_task(name=TASK)
def run(pk: int) -> bool:
    """Continue an import. Return whether work is left, for which another task is sent."""

    def work(redis: RedisClient) -> bool:
        with lease(redis, f"library-import-{pk}") as mine:
            return run_import(pk) if mine else False

    is_left = work_or_wait(work, False, logger, "Redis is away, the import %s continues later: %s", str(pk))
    if is_left:
        send.task(TASK, args=(pk,))
    return bool(is_left)


@shared_task(name="library.tasks.run_all")
def run_all() -> int:
    """Send a task for each import that is not finished. Return their number. Beat starts it every half minute.

    An import whose task is running is leased, so the second task ends at once.
    """
    found = find_working()
    for pk in found:
        send.task(TASK, args=(pk,))
    return len(found)
