"""The number of copies in a visitor's cart, for the header of every page.

The number comes with the round trip that loads the session, so it costs nothing extra. It is left out while Redis is
away or being restored: one SQL query on every page would be too expensive.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from accounts.sessions import companions
from common.additions import Addition
from mirror.backup import epoch
from mirror.redis import RedisPipeline, client, naming
from shop import keys
from shop.carts.reading import CartView, read_cart
from shop.carts.scripts import BACKUP
from shop.carts.without_redis import get_request_state
from shop.visitors import get_session_digest

NAME = "cart"
_CART_ATTRIBUTE = "_cart_now"


def register_companion() -> None:
    """Register the number of copies as a companion of the session."""
    companions.register(Addition(name=NAME, size=2, add_commands=_queue_copies))


def _queue_copies(pipe: RedisPipeline, digest: str) -> None:
    pipe.hmget(keys.cart_state(digest), ["copies", "moved"])
    pipe.get(naming.restored(BACKUP))


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
    digest = get_session_digest(request)
    if digest is None:
        return 0
    if get_request_state().was_behind:
        return read_cart(digest).copies
    replies = session.get_companion_replies(NAME)
    if replies is None:
        return None
    (copies, moved), restored = replies
    if not epoch.trusted(client(), [restored])[0]:
        return None
    return read_cart(digest).copies if moved else int(copies or 0)
