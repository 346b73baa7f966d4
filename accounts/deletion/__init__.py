"""Deletion of accounts after a grace period."""

from accounts.deletion.services import Backend, hold_deletion, request_deletion, reverse_deletion

__all__ = [
    "Backend",  # sessions contain this path
    "hold_deletion",
    "request_deletion",
    "reverse_deletion",
]
