"""Celery tasks of the shop."""

import logging

from celery import shared_task
from redis.exceptions import RedisError

from mirror.redis import lease, relay_client, work_or_wait
from shop import emails
from shop.book_views import decay, retention
from shop.carts import storage
from shop.invoices import services as invoices
from shop.recommend import build
from shop.rowcache import daemon
from shop.services import confirmations, stock_alerts
from shop.services.settle import settle_all

logger = logging.getLogger("shop")
EXPIRE_BUDGET_SECONDS = 60  # budget of one run


@shared_task(name="shop.tasks.settle")
def settle() -> list[int]:
    """Settle payments, reservations, refunds and emails. Return how many of each. Beat starts it every few seconds.

    A lease in Redis lets one run at a time, so that a hanging provider does not block all workers.
    """
    try:
        with lease(relay_client(), "shop-settle") as mine:
            return list(settle_all()) if mine else []
    except RedisError:
        return list(settle_all())


@shared_task(name="shop.tasks.confirm", autoretry_for=(OSError,), retry_backoff=10, max_retries=3)
def confirm(order_id: int) -> bool:
    """Send the confirmation of a paid order."""
    return confirmations.send_confirmation(order_id)


@shared_task(name="shop.tasks.note_stock")
def note_stock() -> int:
    """Note for which stock alerts the shop has copies again, and remove old ones. Return how many were noted."""
    return stock_alerts.note_returns()


@shared_task(name="shop.tasks.recommend")
def recommend() -> dict[str, int]:
    """Compute all recommendations. Beat starts it once a day."""
    return build.rebuild_recommendations().as_dict()


@shared_task(name="shop.tasks.rescale_views")
def rescale_views() -> int:
    """Trim and halve the popularity of books if it is due. Return the number of periods. Beat starts it every few
    seconds.
    """
    return work_or_wait(
        lambda redis: decay.maintain_popularity(redis).periods, 0, logger, "Redis is away, views are halved later: %s"
    )


@shared_task(name="shop.tasks.expire_views")
def expire_views() -> int:
    """Delete expired views for at most a minute. Return their number. Beat starts it every hour."""
    return retention.expire_views(seconds=EXPIRE_BUDGET_SECONDS)


@shared_task(name="shop.tasks.remove_old_invoices")
def remove_old_invoices() -> int:
    """Remove invoices of years that need not be kept, for at most a minute. Return their number. Beat starts it once a
    day.
    """
    return invoices.remove_old_invoices(seconds=EXPIRE_BUDGET_SECONDS)


@shared_task(name="shop.tasks.cache_rows")
def cache_rows() -> int:
    """Cache the rows that are due. Return their number. Beat starts it every second."""
    return work_or_wait(lambda redis: daemon.run_once(redis, look=False), 0, logger, "Redis is away, rows wait: %s")


@shared_task(name="shop.tasks.tell", autoretry_for=(OSError,), retry_backoff=10, max_retries=6)
def tell(about: str, order_id: int) -> int:
    """Tell the buyer that an order is cancelled or sent. Return the number of sent emails."""
    return emails.send_email(about, order_id)


@shared_task(name="shop.tasks.clean_carts")
def clean_carts() -> int:
    """Park carts whose session is gone. Return their number. Beat starts it every hour."""
    return storage.park_strays()
