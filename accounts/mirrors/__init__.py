"""Mirrors of users and sessions."""

from accounts.mirrors import sessions, users

__all__ = ["sessions", "users"]
