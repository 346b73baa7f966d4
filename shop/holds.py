"""A hold in front of SQL: what a checkout just found too little of is not asked for again, for a moment.

SQL decides what is sold. Redis only spares it those who cannot win: when too few copies were left for somebody, it
remembers for ``settings.SHOP_HOLD_SECONDS`` how many there were. It is never asked whether something may be sold, so it
cannot oversell; and what it remembers is gone after that time, or as soon as copies come back, so it does not
undersell for longer. Without Redis all of this does nothing.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from django.conf import settings
from redis.exceptions import RedisError

from mirror.redis import breaker, client, is_away
from shop import keys

logger = logging.getLogger("shop")
T = TypeVar("T")


def short(wanted: Mapping[int, int]) -> dict[int, int]:
    """Those products of which, as was found a moment ago, fewer than wanted were left: how many. 1 round trip."""
    found = _ask(lambda pipe: [pipe.get(keys.hold(pk)) for pk in wanted], [None] * len(wanted))
    known = {pk: int(said) for pk, said in zip(wanted, found, strict=True) if said is not None}
    return {pk: left for pk, left in known.items() if left < wanted[pk]}


def remember(left: Mapping[int, int], asked: float) -> None:
    """So many copies were left at ``asked`` (``time.monotonic()``, before SQL was asked)."""
    life = int((settings.SHOP_HOLD_SECONDS - (time.monotonic() - asked)) * 1000)
    if left and life > 0:
        _ask(lambda pipe: [pipe.set(keys.hold(pk), count, px=life) for pk, count in left.items()], [])


def forget(product_ids: Iterable[int]) -> None:
    """There may be more of these now."""
    _ask(lambda pipe: [pipe.delete(keys.hold(pk)) for pk in product_ids], [])


def _ask(queue: Callable[[Any], object], away: list[Any]) -> list[Any]:
    if breaker.open():
        return away
    try:
        pipe = client().pipeline(transaction=False)
        queue(pipe)
        return list(pipe.execute())
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("Redis did not take a hold: %s", error)
        return away
