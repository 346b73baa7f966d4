"""Celery's side of the shop."""

from celery import shared_task

from shop.recommend import build
from shop.services import confirming
from shop.services import settle as settling


@shared_task(name="shop.tasks.settle")
def settle() -> list[int]:
    """Open payments, run-out reservations, due refunds, letters: how many of each. Beat asks every few seconds."""
    return list(settling.settle())


@shared_task(name="shop.tasks.confirm", autoretry_for=(OSError,), retry_backoff=10, max_retries=3)
def confirm(order_id: int) -> bool:
    """Write to the customer of a paid order."""
    return confirming.confirm(order_id)


@shared_task(name="shop.tasks.recommend")
def recommend() -> dict[str, int]:
    """Work out all recommendations. Beat asks once a day."""
    return build.rebuild().as_dict()
