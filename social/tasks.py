"""Celery tasks."""

from celery import shared_task

from social.timelines import pulling


@shared_task(name="social.tasks.settle_pulled")
def settle_pulled() -> int:
    """Advance the states of pulled authors. Return the number of authors with a new state."""
    return pulling.advance_states()
