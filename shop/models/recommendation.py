"""What else those who saw or bought a book bought: worked out from SQL history now and then."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from shop.models.product import Product


class Recommendation(models.Model):
    """The best 64 of a product, best first, each a list.

    bought: [other, score, buyers of both]. viewbuy: [other, score, percent, viewers].
    """

    product = models.OneToOneField(
        Product, verbose_name=_("product"), on_delete=models.CASCADE, primary_key=True, related_name="recommendation"
    )
    bought = models.JSONField(_("bought as well"), default=list)
    viewbuy = models.JSONField(_("bought after a look"), default=list)
    built_at = models.DateTimeField(_("worked out"), default=timezone.now)

    class Meta:
        verbose_name = _("recommendation")
        verbose_name_plural = _("recommendations")

    def __str__(self) -> str:
        return str(self.product)
