"""Emails of accounts: addresses and their verification, rendering, and delivery by tasks."""

from accounts.mail.outgoing import RETRY_OPTIONS, queue_task

__all__ = [
    "RETRY_OPTIONS",
    "queue_task",
]
