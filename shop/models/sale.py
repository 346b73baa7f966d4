"""Sales: lower prices for a limited time."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from shop.models.product import Product


class SaleQuerySet(models.QuerySet["Sale"]):
    """Queries for sales."""

    def running_at(self, moment: datetime) -> Self:
        """Sales that are on at this time. The start belongs to the period, the end does not."""
        return self.filter(starts_at__lte=moment, ends_at__gt=moment)

    def ending_after(self, moment: datetime) -> Self:
        """Current and coming sales."""
        return self.filter(ends_at__gt=moment)


class Sale(models.Model):
    """A period with lower prices for some products."""

    name = models.CharField(_("name"), max_length=100)
    starts_at = models.DateTimeField(_("starts"))
    ends_at = models.DateTimeField(_("ends"), db_index=True)

    objects = SaleQuerySet.as_manager()

    class Meta:
        verbose_name = _("sale")
        verbose_name_plural = _("sales")
        ordering = ["-starts_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("starts_at")),
                name="shop_sale_ends_after_it_starts",
                violation_error_message=_("A sale ends after it starts."),
            )
        ]

    def __str__(self) -> str:
        return self.name


class SaleItem(models.Model):
    """A product in a sale, and its price there in cents."""

    sale = models.ForeignKey(
        Sale, verbose_name=_("sale"), on_delete=models.CASCADE, related_name="items", db_index=False
    )
    product = models.ForeignKey(Product, verbose_name=_("product"), on_delete=models.CASCADE, related_name="sale_items")
    price = models.PositiveIntegerField(_("price"), help_text=_("In cents."))

    class Meta:
        verbose_name = _("product on sale")
        verbose_name_plural = _("products on sale")
        constraints = [models.UniqueConstraint(fields=["sale", "product"], name="shop_saleitem_once")]

    def __str__(self) -> str:
        return f"{self.product} ({self.sale})"
