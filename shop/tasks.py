"""Celery's side of the shop."""

import logging

from celery import shared_task
from redis.exceptions import RedisError

from mirror.lease import lease
from mirror.redis import relay_client
from shop import letters
from shop.carts import settling as cart_settling
from shop.recommend import build
from shop.rowcache import daemon
from shop.services import confirming
from shop.services import settle as settling
from shop.viewing import halving, keeping

logger = logging.getLogger("shop")
EXPIRE_SECONDS = 60  # for which views are deleted in one go


@shared_task(name="shop.tasks.settle")
def settle() -> list[int]:
    """Open payments, run-out reservations, due refunds, letters: how many of each. Beat asks every few seconds.

    One at a time, as long as Redis can say so: a provider that hangs must not hold up all workers.
    """
    try:
        with lease(relay_client(), "shop-settle") as mine:
            return list(settling.settle()) if mine else []
    except RedisError:
        return list(settling.settle())


@shared_task(name="shop.tasks.confirm", autoretry_for=(OSError,), retry_backoff=10, max_retries=3)
def confirm(order_id: int) -> bool:
    """Write to the customer of a paid order."""
    return confirming.confirm(order_id)


@shared_task(name="shop.tasks.recommend")
def recommend() -> dict[str, int]:
    """Work out all recommendations. Beat asks once a day."""
    return build.rebuild().as_dict()


@shared_task(name="shop.tasks.rescale_views")
def rescale_views() -> int:
    """Trim and halve how often books were looked at, if it is due. Beat asks every few seconds. Returns the periods."""
    try:
        return halving.settle().periods
    except RedisError as error:
        logger.warning("Redis is away, views are halved later: %s", error)
        return 0


@shared_task(name="shop.tasks.expire_views")
def expire_views() -> int:
    """Delete views that nothing is made of any more, for a minute at most. Beat asks every hour. Returns how many."""
    return keeping.expire(seconds=EXPIRE_SECONDS)


@shared_task(name="shop.tasks.cache_rows")
def cache_rows() -> int:
    """Cache the rows that are due. Beat asks every second. Returns how many."""
    try:
        return daemon.run_once(look=False)
    except RedisError as error:
        logger.warning("Redis is away, rows wait: %s", error)
        return 0


@shared_task(name="shop.tasks.tell", autoretry_for=(OSError,), retry_backoff=10, max_retries=6)
def tell(about: str, order_id: int) -> int:
    """Write to the customer of an order that it is cancelled, or sent. Returns how many letters."""
    return letters.tell(about, order_id)


@shared_task(name="shop.tasks.settle_carts")
def settle_carts() -> int:
    """Redis is told of carts that SQL got past it, and of those that are over. Beat asks every few seconds."""
    return cart_settling.settle_carts()
