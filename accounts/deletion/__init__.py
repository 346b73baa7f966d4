"""Deletion of accounts after a grace period."""

from accounts.deletion.services import Backend, cancel_deletion, request_deletion

__all__ = [
    "Backend",  # sessions contain this path
    "cancel_deletion",
    "request_deletion",
]
