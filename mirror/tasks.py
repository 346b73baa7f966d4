"""Celery's side of the relay."""

from celery import shared_task

from mirror import rebuild as rebuilding
from mirror import relay, sweeper


@shared_task(name="mirror.tasks.drain_keys")
def drain_keys(mirror: str, keys: list[str]) -> int:
    """Drain these keys: what did not fit a request's budget."""
    return relay.drain_keys(mirror, keys)[0]


@shared_task(name="mirror.tasks.sweep")
def sweep() -> int:
    """One round of everything that has to be done regularly. Beat asks every second."""
    return sweeper.sweep()


@shared_task(name="mirror.tasks.rebuild")
def rebuild(mirror: str) -> int:
    """Rebuild a cold mirror, unless somebody is at it."""
    return rebuilding.rebuild_if_cold(mirror)
