"""Celery tasks of this application."""

import logging
from collections.abc import Callable

from celery import shared_task
from django.conf import settings

from accounts.audit import log as audit
from accounts.deletion import services as deletion
from accounts.mail.tasks import send_email, send_reset_links
from accounts.sessions import cleaning
from accounts.suspension import lift_due_suspensions
from accounts.users.renaming import delete_expired_names
from mirror.redis import RedisClient, lease, work_or_wait

__all__ = ["clean_sessions", "delete_accounts", "lift_suspensions", "send_email", "send_reset_links"]
logger = logging.getLogger("accounts")


@shared_task(name="accounts.tasks.clean_sessions")
def clean_sessions() -> int:
    """Keep the newest sessions and end expired ones. Return the number of ended sessions.

    This task also deletes one slice of old audit events, and former names that are no longer reserved.
    """
    audit.delete_old_events()
    delete_expired_names()
    seconds = settings.SESSION_CLEAN_SECONDS

    def work(redis: RedisClient) -> int:
        done = cleaning.clean_sessions(settings.SESSION_LIMIT, seconds=seconds, redis=redis)
        return done.removed + done.expired

    return _run_alone("sessions", work)


@shared_task(name="accounts.tasks.delete_accounts")
def delete_accounts() -> int:
    """Delete the accounts that are due. Return the number of deleted accounts."""
    seconds = settings.ACCOUNT_DELETION_SECONDS
    return _run_alone("account-deletion", lambda redis: deletion.delete_due_accounts(seconds))


@shared_task(name="accounts.tasks.lift_suspensions")
def lift_suspensions() -> int:
    """Lift the suspensions that are over. Return their number. Beat starts it every minute; repeated runs are safe."""
    return lift_due_suspensions()


def _run_alone(job: str, work: Callable[[RedisClient], int]) -> int:
    """Run a job under a lease and return its result; 0 if another process runs it, or while Redis is away."""

    def run(redis: RedisClient) -> int:
        with lease(redis, job) as mine:
            return work(redis) if mine else 0

    return work_or_wait(run, 0, logger, "Redis is away, the job %s runs later: %s", job)
