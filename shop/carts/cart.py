"""Reading carts: from Redis, or, with the same answer, from SQL."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mirror.backup import access, registry
from mirror.backup.declare import Backup
from mirror.redis import RedisError, breaker, client, is_away
from shop.carts.content import EMPTY, PARKED, Content
from shop.carts.direct import HOPS, behind
from shop.carts.scripts import BACKUP

logger = logging.getLogger("shop")


class CartNow(NamedTuple):
    """What is in a cart: copies by product id, in the order in which they were put in; when it was last changed
    (microseconds since 1970; 0: never); and what each cost when it was put in, in cents.
    """

    lines: Mapping[int, int] = {}
    version: int = 0
    prices: Mapping[int, int] = {}

    @property
    def copies(self) -> int:
        """How many there are of everything."""
        return sum(self.lines.values())


def backup() -> Backup:
    """What is said of carts to ``mirror.backup``."""
    return registry.get(BACKUP)


def read(digest: str | None) -> CartNow:
    """The cart of who has this digest (None: nobody). 1 round trip and no SQL from a Redis that has it.

    Redis' errors never get out. After a write that went to SQL because Redis was away, SQL is asked as well.
    """
    for _ in range(HOPS):
        content = _content(digest) if digest else EMPTY
        if not content.moved:
            return cart_now(content)
        digest = None if content.moved == PARKED else content.moved
    return CartNow()


def cart_now(content: Content) -> CartNow:
    """What a cart's content says to who reads it."""
    lines = content.quantities
    return CartNow(lines, content.version, {product: content.lines[str(product)].price for product in lines})


def _content(digest: str) -> Content:
    if behind().was and not behind().told:
        tell(digest)
    found: Content = access.fetch(backup(), [digest]).get(digest, EMPTY)
    return found


def tell(digest: str) -> None:
    """Bring Redis what SQL says of a cart, once in a request, if it can be had."""
    known = backup().load([digest])
    if _try(lambda redis: backup().put_back(redis, known)):
        behind().told = True


def _try(ask: Callable[[Any], object]) -> bool:
    """Ask Redis, if it is there. Returns whether it was."""
    if breaker.open():
        return False
    try:
        ask(client())
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("Redis did not answer, what it is to know of a cart waits: %s", error)
        return False
    return True
