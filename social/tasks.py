"""Celery's side of social."""

from celery import shared_task

from social import pulled


@shared_task(name="social.tasks.settle_pulled")
def settle_pulled() -> int:
    """See whose posts are fetched from now on. Returns for how many authors that changed."""
    return pulled.settle()
