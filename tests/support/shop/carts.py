"""Create sessions with carts, and compare carts in Redis with SQL."""

from datetime import timedelta
from itertools import count
from typing import Any

from django.utils import timezone

from accounts.models import Session, User
from accounts.sessions.rows import hash_token
from mirror.redis.clients import relay_client
from mirror.relay.drains import drain_all
from mirror.verify import runs
from shop.carts.reading import read_cart
from shop.mirrors.carts import CartMirror

_numbers = count()


def make_visitor(user: User | None = None) -> str:
    """Create a session and return its digest."""
    return make_session(f"token {next(_numbers)}", user)


def make_session(token: str, user: User | None = None) -> str:
    """Create a session with this token unless it exists, and return its digest."""
    digest = hash_token(token)
    until = timezone.now() + timedelta(days=1)
    Session.objects.get_or_create(pk=digest, defaults={"session_data": "", "expire_date": until, "user": user})
    return digest


def read_quantities(digest: str | None) -> dict[int, int]:
    """Return the quantities in a cart by product id."""
    return dict(read_cart(digest).lines)


def find_differences() -> list[Any]:
    """Return the differences between SQL and Redis, after all changes are drained."""
    drain_all()
    return list(runs.verify([CartMirror.name], redis=relay_client()))
