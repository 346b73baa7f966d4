"""The backup of carts in SQL; Redis has carts first (``shop.backups``)."""

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from shop.carts.content import PARKED, CartContent, ContentLine

FLOOR_FIELD = "floor"


class CartQuerySet(models.QuerySet["Cart"]):
    """Queries for carts."""

    def live(self) -> Self:
        """Carts of live sessions."""
        return self.filter(is_parked=False, moved_to="")

    def parked(self) -> Self:
        """Carts that wait for their user's next login."""
        return self.filter(is_parked=True, moved_to="")

    def pending_for_redis(self) -> Self:
        """Carts with changes that Redis does not have yet."""
        return self.filter(is_owed=True)


class Cart(models.Model):
    """A visitor's cart.

    digest: of the session's token. lines: quantity by product id ({"7": 2}). version: the time of the last change, in
    microseconds since 1970; it only rises. versions: for each line, removed ones too, its version, its price in cents
    at that time and the time when the product was added ({"7": [1763750000000000, 1250, 1763740000000000]}), and the
    floor (``shop.carts.content``). user: the user of the session; after the session has ended, the cart waits for this
    user's next login. moved_to: the digest of the cart that replaces this one, after the token was rotated or the cart
    was merged. ended_at: the time when the cart was parked or moved. is_owed: Redis does not have all changes yet.
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
    versions = models.JSONField(_("versions of the lines"), default=dict)
    version = models.BigIntegerField(_("version"), default=0)
    is_parked = models.BooleanField(_("waiting for a login"), default=False, db_default=False)
    moved_to = models.CharField(_("continued as"), max_length=64, blank=True, default="", db_default="")
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    is_owed = models.BooleanField(_("missing in Redis"), default=False, db_default=False)

    objects = CartQuerySet.as_manager()

    class Meta:
        verbose_name = _("cart")
        verbose_name_plural = _("carts")
        indexes = [
            models.Index(fields=["digest"], name="shop_cart_owed", condition=Q(is_owed=True)),
            models.Index(fields=["ended_at"], name="shop_cart_ended", condition=Q(ended_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.digest[:12]

    @property
    def content(self) -> CartContent:
        """The value of the cart."""
        versions: dict[str, Any] = dict(self.versions)
        floor = versions.pop(FLOOR_FIELD, 0)
        lines = {name: ContentLine(quantity, self.version) for name, quantity in self.lines.items()}
        lines |= {name: ContentLine(self.lines.get(name, 0), *since) for name, since in versions.items()}
        return CartContent(lines, floor, self.moved_to or (PARKED if self.is_parked else ""))

    @content.setter
    def content(self, content: CartContent) -> None:
        self.lines = {str(product): quantity for product, quantity in content.quantities.items()}
        self.versions = {name: [line.version, line.price, line.added] for name, line in content.lines.items()}
        if content.pruned_until:
            self.versions[FLOOR_FIELD] = content.pruned_until
        self.version = content.version
        self.moved_to = "" if content.moved_to == PARKED else content.moved_to
