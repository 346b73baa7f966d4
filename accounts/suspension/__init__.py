"""Suspensions: accounts that are inactive until a time."""

from accounts.suspension.services import (
    AccountInactive,
    find_suspension,
    is_suspended,
    lift_due_suspensions,
    lift_suspension,
    suspend_user,
)

__all__ = [
    "AccountInactive",
    "find_suspension",
    "is_suspended",
    "lift_due_suspensions",
    "lift_suspension",
    "suspend_user",
]
