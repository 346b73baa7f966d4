"""Who a visitor is to the shop: their session's token, by its digest."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest


def digest_of(request: HttpRequest) -> str | None:
    """By what the visitor's cart is known; None: they have no session. Makes none, and sets no cookie."""
    session: Any = request.session
    if not session.session_key:
        return None
    session.get(SESSION_KEY)  # reads it, if nobody has: a token that is over is forgotten
    digest: str | None = session.digest
    return digest


def ensure_digest(request: HttpRequest) -> str:
    """As ``digest_of``; who has no session gets one. After this the answer sets the session's cookie."""
    digest = digest_of(request)
    if digest is None:
        request.session.create()
        digest = digest_of(request)
    assert digest is not None
    return digest
