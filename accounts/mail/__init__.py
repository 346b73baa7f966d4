"""Emails of accounts: addresses and their verification, rendering, and delivery by tasks."""

from accounts.mail.outgoing import queue_task

__all__ = [
    "queue_task",
]
