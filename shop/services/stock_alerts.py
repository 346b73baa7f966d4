"""Alerts of readers who wait for a sold-out product."""

from typing import Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.translation import gettext_lazy as _

from accounts.notifications.tables import find_oldest_time
from common import clock
from common.database import SLICE_SIZE, repeat_after_conflict
from common.refusals import Refused
from shop.models import Product, StockAlert

MAX_SLICES: Final = 100  # slices of one run


class ProductNotFound(Refused):
    """The shop does not sell the product."""

    message = _("Book not found.")


class HasCopies(Refused):
    """Copies of the product are left."""

    message = _("This book is in stock.")


class TooManyAlerts(Refused):
    """The reader waits for ``settings.STOCK_ALERT_LIMIT`` products."""

    message = _("You already wait for as many books as possible. Remove one first.")


@repeat_after_conflict
def add_alert(user_id: int, product_id: int) -> None:
    """Let a reader wait for a product. Raises ProductNotFound, HasCopies, TooManyAlerts."""
    product = Product.objects.for_sale().filter(pk=product_id).first()
    if product is None:
        raise ProductNotFound
    if product.available > 0:
        raise HasCopies
    others = StockAlert.objects.filter(user_id=user_id, back_at=None).exclude(product_id=product_id)
    if others.count() >= settings.STOCK_ALERT_LIMIT:
        raise TooManyAlerts
    try:
        with transaction.atomic():
            is_new = StockAlert.objects.get_or_create(user_id=user_id, product_id=product_id)[1]
    # Foreign keys are checked at the commit, where the product may turn out to be deleted.
    except IntegrityError as error:
        raise ProductNotFound from error
    if not is_new:
        # The reader was told before, and the product is sold out again.
        done = StockAlert.objects.filter(user_id=user_id, product_id=product_id, back_at__isnull=False)
        done.update(back_at=None, created_at=clock.now())


def remove_alert(user_id: int, product_id: int) -> bool:
    """Remove an alert. Return False if it does not exist."""
    return bool(StockAlert.objects.filter(user_id=user_id, product_id=product_id).delete()[0])


def note_returns() -> int:
    """Note for which alerts copies are left, which notifies the readers. Return their number.

    Remove alerts with old notifications. Both happen in bounded steps.
    """
    total = 0
    for _number in range(MAX_SLICES):
        count = _note_slice()
        total += count
        if count < SLICE_SIZE:
            break
    for _number in range(MAX_SLICES):
        if _remove_slice() < SLICE_SIZE:
            break
    return total


@repeat_after_conflict
def _note_slice() -> int:
    with transaction.atomic():
        back = StockAlert.objects.filter(
            back_at=None, product__is_active=True, product__stock__gt=F("product__reserved")
        )
        ids = list(back.order_by("pk").values_list("pk", flat=True)[:SLICE_SIZE])
        return StockAlert.objects.filter(pk__in=ids, back_at=None).update(back_at=clock.now())


@repeat_after_conflict
def _remove_slice() -> int:
    with transaction.atomic():
        done = StockAlert.objects.filter(back_at__lt=find_oldest_time()).order_by("back_at")
        ids = list(done.values_list("pk", flat=True)[:SLICE_SIZE])
        return StockAlert.objects.filter(pk__in=ids).delete()[0]
