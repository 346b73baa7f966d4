"""How users and their sessions show in Redis."""

from accounts.mirrors import sessions, users

__all__ = ["sessions", "users"]
