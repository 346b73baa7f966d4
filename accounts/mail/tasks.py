"""Celery tasks that send emails. ``accounts.tasks`` imports them for the workers."""

from typing import Any

from celery import shared_task

from accounts.mail import outgoing
from accounts.passwords import services as passwords

# Retry while the mail server is unavailable. The errors of smtplib are OSErrors as well.
RETRY_OPTIONS: dict[str, Any] = {
    "autoretry_for": (OSError,),
    "retry_backoff": 10,
    "retry_backoff_max": 300,
    "max_retries": 6,
}


@shared_task(name="accounts.tasks.send_letter", **RETRY_OPTIONS)
def send_email(about: str, to: str, language: str, context: dict[str, Any]) -> int:
    """Render and send one email. Return the number of sent emails."""
    return outgoing.render_email(about, to, language, **context).send()


@shared_task(name="accounts.tasks.send_reset_links", **RETRY_OPTIONS)
def send_reset_links(email: str, language: str) -> int:
    """Send reset links for the accounts of this address. Return the number of emails, 0 without an account."""
    return passwords.send_reset_links(email, language)
