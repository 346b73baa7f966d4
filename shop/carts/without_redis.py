"""Write carts to SQL while Redis is away.

A cookie makes the visitor's next requests, in any process, read SQL as well until Redis has received the cart
(``shop.middleware``).
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.db import transaction

from common.database import repeat_after_conflict
from mirror.conf import setting
from shop.carts.content import CartContent
from shop.carts.rows import get_session_users, lock_carts, write_rows

logger = logging.getLogger("shop")
MAX_MOVES = 5  # moves of a cart that one call follows


@dataclass
class RequestState:
    """Whether Redis lacks this visitor's latest writes.

    was_behind: an earlier request wrote to SQL alone. is_behind: this request did. has_caught_up: Redis has received
    the cart since.
    """

    was_behind: bool = False
    is_behind: bool = False
    has_caught_up: bool = False


_request_state: ContextVar[RequestState | None] = ContextVar("cart_behind", default=None)


def get_request_state() -> RequestState:
    """Return the state of the current request, or a state without pending writes outside of requests."""
    return _request_state.get() or RequestState()


@contextmanager
def track_request(was_behind: bool) -> Generator[RequestState, None, None]:
    """Run the block as one visitor's request. was_behind: an earlier request wrote to SQL alone."""
    state = RequestState(was_behind)
    token = _request_state.set(state)
    try:
        yield state
    finally:
        _request_state.reset(token)


@repeat_after_conflict
def write_to_sql(digest: str, change: Callable[[CartContent], CartContent]) -> CartContent:
    """Change a cart in SQL and return its new content, following the cart if it has moved.

    Exceptions of ``change`` are raised to the caller. Raises RuntimeError if the cart has moved too often.
    """
    where = digest
    for _ in range(MAX_MOVES):
        with transaction.atomic(using=setting("DATABASE")):
            sessions = get_session_users([where])
            row = lock_carts([where], make=[where])[where]
            if not row.moved_to:
                row.content = change(row.content)
                row.user_id, row.is_owed = sessions.get(where) or row.user_id, True
                write_rows([row])
                get_request_state().is_behind = True
                return row.content
        where = row.moved_to
    raise RuntimeError(f"the cart {digest[:12]} has moved too often")
