"""Alerts: readers who want to know when a sold-out book is back, or when a book is cheaper."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from shop.models.product import Product


class AlertKind(models.TextChoices):
    """What a reader waits for."""

    STOCK = "stock", _("copies")
    PRICE = "price", _("a lower price")


class StockAlert(models.Model):
    """A reader waits for copies of a product, or for a lower price than ``cents``.

    back_at: the time when the shop had copies again, or copies at a lower price; then the reader is notified.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    product = models.ForeignKey(
        Product, verbose_name=_("product"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    kind = models.CharField(
        _("waits for"), max_length=5, choices=AlertKind, default=AlertKind.STOCK, db_default="stock"
    )
    cents = models.PositiveIntegerField(_("price"), null=True, blank=True, help_text=_("In cents."))
    created_at = models.DateTimeField(_("since"), default=timezone.now)
    back_at = models.DateTimeField(_("notified"), null=True, blank=True)

    class Meta:
        verbose_name = _("stock alert")
        verbose_name_plural = _("stock alerts")
        constraints = [models.UniqueConstraint(fields=["user", "product", "kind"], name="shop_alert_once")]
        indexes = [
            models.Index(fields=["product"], name="shop_stock_alert_open", condition=Q(back_at=None)),
            models.Index(fields=["back_at"], name="shop_stock_alert_done", condition=Q(back_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.product_id}"
