"""Products: a book, its price and its stock."""

from typing import Self

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from catalog.models import Book


class VatClass(models.TextChoices):
    """The rates of VAT that goods have (``shop.delivery.vat``)."""

    BOOK = "book", _("book")
    STANDARD = "standard", _("other goods")


class ProductQuerySet(models.QuerySet["Product"]):
    """Queries for products."""

    def for_sale(self) -> Self:
        """Products for sale, even if none are left."""
        return self.filter(is_active=True)

    def with_copies(self, *, least: int | None = None, most: int | None = None) -> Self:
        """Products of which so many copies can be bought, in the form of the index ``shop_product_left``."""
        limits = {"copies__gte": least, "copies__lte": most}
        rows = self.alias(copies=F("stock") - F("reserved"))
        return rows.filter(**{lookup: limit for lookup, limit in limits.items() if limit is not None})


class Product(models.Model):
    """A book as the shop sells it. Its id is the book's id.

    stock: copies in the house. reserved: those of them that are held for unpaid orders. The difference can be bought.
    Both change only by conditional updates (``shop.services.stock``).
    """

    book = models.OneToOneField(
        Book, verbose_name=_("book"), on_delete=models.CASCADE, primary_key=True, related_name="product"
    )
    price = models.PositiveIntegerField(_("price"), help_text=_("In cents."))
    stock = models.PositiveIntegerField(_("in stock"), default=0, db_default=0)
    reserved = models.PositiveIntegerField(_("reserved"), default=0, db_default=0, editable=False)
    is_active = models.BooleanField(_("for sale"), default=True, db_default=True)

    # For delivery. The default is a paperback of 300 pages.
    grams = models.PositiveIntegerField(_("weight"), default=400, db_default=400, help_text=_("In grams."))
    vat_class = models.CharField(_("VAT"), max_length=10, choices=VatClass, default=VatClass.BOOK, db_default="book")

    objects = ProductQuerySet.as_manager()

    class Meta:
        verbose_name = _("product")
        verbose_name_plural = _("products")
        constraints = [
            models.CheckConstraint(condition=Q(stock__gte=F("reserved")), name="shop_product_not_oversold"),
            models.CheckConstraint(condition=Q(reserved__gte=0), name="shop_product_reserved"),
        ]
        indexes = [
            models.Index(fields=["price", "book"], name="shop_product_price"),
            models.Index(F("stock") - F("reserved"), F("is_active"), name="shop_product_left"),
        ]

    def __str__(self) -> str:
        return str(self.book)

    @property
    def available(self) -> int:
        """The number of copies that can be bought."""
        return self.stock - self.reserved
