"""The number of copies in a visitor's cart, for the header of every page.

The number comes with the round trip that loads the session, so it costs nothing extra. It is left out while Redis is
away or the mirror is cold: one SQL query on every page would be too expensive.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from accounts.sessions import companions
from common.additions import Addition
from mirror.read import add_marker, is_current
from mirror.redis import RedisPipeline
from shop import keys
from shop.carts.reading import CartView
from shop.mirrors.carts import CartMirror
from shop.visitors import get_session_digest

NAME = "cart"
_CART_ATTRIBUTE = "_cart_now"


def register_companion() -> None:
    """Register the number of copies as a companion of the session."""
    companions.register(Addition(name=NAME, size=2, add_commands=_queue_copies))


def _queue_copies(pipe: RedisPipeline, digest: str) -> None:
    add_marker(pipe, CartMirror.name)
    pipe.hvals(keys.cart(digest))


def remember_cart(request: HttpRequest, cart: CartView) -> None:
    """Remember the content of the visitor's cart after this request read or changed it."""
    setattr(request, _CART_ATTRIBUTE, cart)


def get_copies(request: HttpRequest) -> int | None:
    """Return the number of copies in the visitor's cart: 0 without a session, None if the number is unknown."""
    now: CartView | None = getattr(request, _CART_ATTRIBUTE, None)
    if now is not None:
        return now.copies
    session: Any = request.session
    if not session.session_key and settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return 0
    if get_session_digest(request) is None:
        return 0
    replies = session.get_companion_replies(NAME)
    if replies is None:
        return None
    marker, quantities = replies
    # The number comes from Redis alone, so without a warm mirror it is unknown, and not 0.
    return sum(map(int, quantities)) if is_current(CartMirror.name, marker) else None
