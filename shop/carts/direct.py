"""Carts while Redis is away: straight to SQL, and Redis is owed them.

The same visitor's next requests, whoever serves them, look at SQL too until Redis has been told: a cookie says so
(``shop.middleware``).
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.db import transaction

from mirror.conf import setting
from shop.carts.content import Content
from shop.carts.sql import locked, sessions_of, write

logger = logging.getLogger("shop")
HOPS = 5  # from a token to the next


@dataclass
class Behind:
    """was: Redis may lack what an earlier request wrote. now: what this one wrote. told: Redis has been told since."""

    was: bool = False
    now: bool = False
    told: bool = False


_behind: ContextVar[Behind | None] = ContextVar("cart_behind", default=None)


def behind() -> Behind:
    """How this request stands; outside of one, as if all were well."""
    return _behind.get() or Behind()


@contextmanager
def request(was: bool) -> Generator[Behind, None, None]:
    """What the block reads and writes is one visitor's request."""
    state = Behind(was)
    token = _behind.set(state)
    try:
        yield state
    finally:
        _behind.reset(token)


def write_to_sql(digest: str, change: Callable[[Content], Content]) -> Content:
    """Change a cart in SQL, wherever it has moved. Returns what it is then. What ``change`` raises gets out."""
    where = digest
    for _ in range(HOPS):
        with transaction.atomic(using=setting("DATABASE")):
            sessions = sessions_of([where])
            row = locked([where], make=[where])[where]
            if not row.moved_to:
                row.content = change(row.content)
                row.user_id, row.is_owed = sessions.get(where) or row.user_id, True
                write([row])
                behind().now = True
                return row.content
        where = row.moved_to
    raise RuntimeError(f"the cart {digest[:12]} has moved too often")
