"""Alerts of readers who wait for a sold-out product, or for a lower price."""

from typing import Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from accounts.notifications.tables import find_oldest_time
from common import clock
from common.database import SLICE_SIZE, repeat_after_conflict
from common.refusals import Refused
from shop.models import AlertKind, Product, Sale, SaleItem, StockAlert

MAX_SLICES: Final = 100  # slices of one run


class ProductNotFound(Refused):
    """The shop does not sell the product."""

    message = _("Book not found.")


class HasCopies(Refused):
    """Copies of the product are left."""

    message = _("This book is in stock.")


class TooManyAlerts(Refused):
    """The reader waits for ``settings.STOCK_ALERT_LIMIT`` products."""

    message = _("You have reached the maximum number of alerts. Remove one first.")


@repeat_after_conflict
def add_alert(user_id: int, product_id: int, kind: AlertKind = AlertKind.STOCK) -> None:
    """Let a reader wait for a product, or for a lower price than today's.

    Raises ProductNotFound, HasCopies, TooManyAlerts.
    """
    product = Product.objects.for_sale().filter(pk=product_id).first()
    if product is None:
        raise ProductNotFound
    if kind == AlertKind.STOCK and product.available > 0:
        raise HasCopies
    others = StockAlert.objects.filter(user_id=user_id, back_at=None).exclude(product_id=product_id)
    if others.count() >= settings.STOCK_ALERT_LIMIT:
        raise TooManyAlerts
    price = _find_price(product) if kind == AlertKind.PRICE else None
    mine = {"user_id": user_id, "product_id": product_id, "kind": kind}
    try:
        with transaction.atomic():
            is_new = StockAlert.objects.get_or_create(**mine, defaults={"cents": price})[1]
    # Foreign keys are checked at the commit, where the product may turn out to be deleted.
    except IntegrityError as error:
        raise ProductNotFound from error
    if not is_new:
        # The reader was told before, and waits again.
        done = StockAlert.objects.filter(**mine, back_at__isnull=False)
        done.update(back_at=None, created_at=clock.now(), cents=price)


def _find_price(product: Product) -> int:
    """Return the current price of a product in cents."""
    sales = SaleItem.objects.filter(product_id=product.pk, sale__in=Sale.objects.running_at(clock.now()))
    return min([product.price, *sales.values_list("price", flat=True)])


def remove_alert(user_id: int, product_id: int, kind: AlertKind = AlertKind.STOCK) -> bool:
    """Remove an alert. Return False if it does not exist."""
    return bool(StockAlert.objects.filter(user_id=user_id, product_id=product_id, kind=kind).delete()[0])


def note_returns() -> int:
    """Note for which alerts copies are left, at a lower price if they wait for one. Return their number.

    The notes notify the readers. Alerts with old notifications are removed. Both happen in bounded steps.
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
        sales = Sale.objects.running_at(clock.now())
        cheaper = SaleItem.objects.filter(
            product_id=OuterRef("product_id"), price__lt=OuterRef("cents"), sale__in=sales
        )
        is_cheaper = Q(product__price__lt=F("cents")) | Exists(cheaper)
        back = StockAlert.objects.filter(
            Q(kind=AlertKind.STOCK) | is_cheaper,
            back_at=None,
            product__is_active=True,
            product__stock__gt=F("product__reserved"),
        )
        ids = list(back.order_by("pk").values_list("pk", flat=True)[:SLICE_SIZE])
        return StockAlert.objects.filter(pk__in=ids, back_at=None).update(back_at=clock.now())


@repeat_after_conflict
def _remove_slice() -> int:
    with transaction.atomic():
        done = StockAlert.objects.filter(back_at__lt=find_oldest_time()).order_by("back_at")
        ids = list(done.values_list("pk", flat=True)[:SLICE_SIZE])
        return StockAlert.objects.filter(pk__in=ids).delete()[0]
