"""Celery's side of letters (``accounts.tasks`` imports them for the workers)."""

from typing import Any

from celery import shared_task

from accounts import letters, passwords

# A mail server that is away for a while; smtplib's errors are OSErrors too.
AGAIN: dict[str, Any] = {"autoretry_for": (OSError,), "retry_backoff": 10, "retry_backoff_max": 300, "max_retries": 6}


@shared_task(name="accounts.tasks.send_letter", **AGAIN)
def send_letter(about: str, to: str, language: str, context: dict[str, Any]) -> int:
    """Write and send one letter."""
    return letters.write(about, to, language, **context).send()


@shared_task(name="accounts.tasks.send_reset_links", **AGAIN)
def send_reset_links(email: str, language: str) -> int:
    """Send links to the accounts of this address, if there are any. Returns the number of letters."""
    return passwords.send_reset_links(email, language)
