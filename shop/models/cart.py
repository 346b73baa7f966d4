"""Carts as SQL knows them: Redis has them first (``shop.backups``)."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Cart(models.Model):
    """What a visitor means to buy.

    digest: of the token of the session whose cart it is. lines: how many of which product ({"7": 2}). version: when it
    was last changed, in microseconds since 1970, each greater than the one before. user: whose session it was; a cart
    whose session has ended waits for its user's next login.
    """

    digest = models.CharField(_("session"), max_length=64, primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="carts",
    )
    lines = models.JSONField(_("lines"), default=dict)
    version = models.BigIntegerField(_("version"))
    is_parked = models.BooleanField(_("waits for a login"), default=False, db_default=False)

    class Meta:
        verbose_name = _("cart")
        verbose_name_plural = _("carts")

    def __str__(self) -> str:
        return self.digest[:12]
