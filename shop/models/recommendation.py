"""Recommendations for the viewers and buyers of a book, computed from the history in SQL."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from shop.models.product import Product


class Recommendation(models.Model):
    """The best 64 recommendations of each kind for a product, best first.

    bought: lists of [product, score, buyers of both]. viewbuy: lists of [product, score, percent, viewers].
    """

    product = models.OneToOneField(
        Product, verbose_name=_("product"), on_delete=models.CASCADE, primary_key=True, related_name="recommendation"
    )
    bought = models.JSONField(_("also bought"), default=list)
    viewbuy = models.JSONField(_("bought after viewing"), default=list)
    built_at = models.DateTimeField(_("computed"), default=timezone.now)

    class Meta:
        verbose_name = _("recommendation")
        verbose_name_plural = _("recommendations")

    def __str__(self) -> str:
        return str(self.product)
