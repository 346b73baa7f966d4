"""Read carts from Redis, with an equal answer from SQL as the fallback."""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from mirror.backup import Backup, access, registry
from mirror.redis import RedisClient, try_redis
from shop.carts.content import EMPTY_CART, PARKED, CartContent
from shop.carts.scripts import BACKUP
from shop.carts.without_redis import MAX_MOVES, get_request_state

logger = logging.getLogger("shop")


class CartView(NamedTuple):
    """The current content of a cart.

    lines: copies by product id, in the order in which the products were added. version: the time of the last change in
    microseconds since 1970, or 0 for a cart that was never written. prices: the price of each product when it was
    added, in cents.
    """

    lines: Mapping[int, int] = {}
    version: int = 0
    prices: Mapping[int, int] = {}

    @property
    def copies(self) -> int:
        """The number of copies of all products."""
        return sum(self.lines.values())


def get_cart_backup() -> Backup:
    """Return the registered backup of carts."""
    return registry.get(BACKUP)


def read_cart(digest: str | None) -> CartView:
    """Return the cart of a session digest; None means that the visitor has no session.

    Takes 1 round trip and no SQL while Redis has the cart. Redis errors are never raised. If an earlier request wrote
    to SQL because Redis was away, SQL is read as well.
    """
    for _ in range(MAX_MOVES):
        content = _read_content(digest) if digest else EMPTY_CART
        if not content.moved_to:
            return make_cart_view(content)
        digest = None if content.moved_to == PARKED else content.moved_to
    return CartView()


def make_cart_view(content: CartContent) -> CartView:
    """Return the public view of a cart's content."""
    lines = content.quantities
    return CartView(lines, content.version, {product: content.lines[str(product)].price for product in lines})


def _read_content(digest: str) -> CartContent:
    if get_request_state().was_behind and not get_request_state().has_caught_up:
        push_cart_to_redis(digest)
    found: CartContent = access.fetch(get_cart_backup(), [digest]).get(digest, EMPTY_CART)
    return found


def push_cart_to_redis(digest: str) -> None:
    """Send SQL's version of a cart to Redis, at most once per request.

    Nothing happens while Redis is away.
    """
    known = get_cart_backup().load([digest])

    def push(redis: RedisClient) -> None:
        get_cart_backup().put_back(redis, known)
        get_request_state().has_caught_up = True

    try_redis(push, lambda: None, logger, "Redis did not answer, what it is to know of a cart waits: %s")
