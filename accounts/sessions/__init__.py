"""Logins: the session engine, its rows and tokens, the list of devices, and the end of sessions."""

from accounts.sessions import rows
from accounts.sessions.companions import companions, list_user_reads
from accounts.sessions.engine import SessionStore
from accounts.sessions.signals import sessions_ending, token_rotated

__all__ = [
    "SessionStore",
    "companions",
    "list_user_reads",
    "rows",
    "sessions_ending",
    "token_rotated",
]
