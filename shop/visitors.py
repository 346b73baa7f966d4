"""Identify a visitor by the digest of the session's token."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest


def get_session_digest(request: HttpRequest) -> str | None:
    """Return the digest of the visitor's session, or None without one. Creates no session and sets no cookie."""
    session: Any = request.session
    if not session.session_key:
        return None
    # Loads the session, which drops an expired token.
    session.get(SESSION_KEY)
    digest: str | None = session.digest
    return digest


def ensure_session_digest(request: HttpRequest) -> str:
    """Return the digest of the visitor's session, and create the session if there is none.

    The response then sets the session cookie.
    """
    digest = get_session_digest(request)
    if digest is None:
        request.session.create()
        digest = get_session_digest(request)
    assert digest is not None
    return digest
