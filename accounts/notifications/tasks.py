"""Celery tasks of notifications."""

from celery import shared_task

from accounts.notifications import services, tables
from accounts.notifications.emails.sending import send_due
from accounts.notifications.models import Way

ROUND_SECONDS = 20.0  # the budget of one run; the next run continues
MAX_SLICES = 100  # slices of old notifications that one run removes


@shared_task(name="accounts.notifications.tasks.send_emails")
def send_emails() -> int:
    """Send the due emails with notifications. Return their number."""
    return sum(send_due(way, ROUND_SECONDS) for way in (Way.EMAIL, Way.WEEKLY))


@shared_task(name="accounts.notifications.tasks.remove_old")
def remove_old() -> int:
    """Remove old notifications in bounded steps. Return their number."""
    before, total = tables.find_oldest_time(), 0
    for _ in range(MAX_SLICES):
        count = services.remove_slice(before)
        total += count
        if not count:
            break
    return total
