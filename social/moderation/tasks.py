"""Celery tasks."""

from celery import shared_task

from accounts.mail import RETRY_OPTIONS
from social.moderation import emails
from social.moderation.services import retention


@shared_task(name="moderation.tasks.delete_old_cases")
def delete_old_cases() -> int:
    """Delete old cases. Return their number. Beat starts it every hour; repeated runs are safe."""
    return retention.delete_old_cases()


@shared_task(name="moderation.tasks.send_email", **RETRY_OPTIONS)
def send_email(about: str, pk: int, language: str) -> int:
    """Send an email about a report, a decision or an appeal. Return the number of sent emails."""
    return emails.send_email(about, pk, language)
