"""Celery tasks."""

from celery import shared_task

from social.profiles.similar import rebuild_similar_readers
from social.timelines import pulling


@shared_task(name="social.tasks.settle_pulled")
def settle_pulled() -> int:
    """Advance the states of pulled authors. Return the number of authors with a new state."""
    return pulling.advance_states()


@shared_task(name="social.tasks.find_similar_readers")
def find_similar_readers() -> int:
    """Compute the readers with similar taste. Return the number of changed rows. Beat starts it once a day."""
    return rebuild_similar_readers()
