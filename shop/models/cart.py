"""Carts, which Redis mirrors (``shop.mirrors.carts``)."""

from typing import Self

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from shop.carts.rules import CartLine, CartLines


class CartQuerySet(models.QuerySet["Cart"]):
    """Queries for carts."""

    def live(self) -> Self:
        """Carts of live sessions."""
        return self.filter(is_parked=False)

    def parked(self) -> Self:
        """Carts that wait for their user's next login."""
        return self.filter(is_parked=True)


class Cart(models.Model):
    """A visitor's cart.

    digest: of the session's token; a parked cart keeps that of its ended session. lines: by product id, as text, a
    dict of quantity, price in cents when the product was added, and the time of that in microseconds since 1970
    (``shop.carts.rules``). version: the time of the last change, in microseconds since 1970; it only rises. user: the
    user of the session; after the session has ended, the cart waits for this user's next login. ended_at: the time when
    the cart was parked.
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
    version = models.BigIntegerField(_("version"), default=0)
    is_parked = models.BooleanField(_("waiting for a login"), default=False, db_default=False)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    objects = CartQuerySet.as_manager()

    class Meta:
        verbose_name = _("cart")
        verbose_name_plural = _("carts")

    def __str__(self) -> str:
        return self.digest[:12]

    @property
    def content(self) -> CartLines:
        """The lines by product id."""
        return {int(pk): CartLine(**line) for pk, line in self.lines.items()}

    @content.setter
    def content(self, lines: CartLines) -> None:
        self.lines = {str(pk): line._asdict() for pk, line in lines.items()}
