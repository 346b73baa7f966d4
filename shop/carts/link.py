"""How many copies are in a visitor's cart, for the head of every page: asked with their session, at no cost of its own.

Where that is not to be had (Redis is away, or was lost and is being restored) the number is left out: SQL is not asked
on every page of everybody for that.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from accounts import companions
from mirror import naming
from mirror.backup import epoch
from mirror.redis import client
from shop import keys
from shop.carts.cart import CartNow, read
from shop.carts.direct import behind
from shop.carts.scripts import BACKUP
from shop.visitors import digest_of

NAME = "cart"
_NOW = "_cart_now"


def register() -> None:
    """Have it asked."""
    companions.register(NAME, 2, _ask)


def _ask(pipe: Any, digest: str) -> None:
    pipe.hmget(keys.cart_state(digest), ["copies", "moved"])
    pipe.get(naming.restored(BACKUP))


def know(request: HttpRequest, cart: CartNow) -> None:
    """This request has changed, or read, its visitor's cart: this is what is in it."""
    setattr(request, _NOW, cart)


def copies_of(request: HttpRequest) -> int | None:
    """How many copies are in the visitor's cart; None: not known just now. 0 for who has no session."""
    now: CartNow | None = getattr(request, _NOW, None)
    if now is not None:
        return now.copies
    session: Any = request.session
    if not session.session_key and settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return 0
    digest = digest_of(request)
    if digest is None:
        return 0
    if behind().was:
        return read(digest).copies
    said = session.said(NAME)
    if said is None or not epoch.trusted(client(), [said[1]])[0]:
        return None
    copies, moved = said[0]
    return read(digest).copies if moved else int(copies or 0)
