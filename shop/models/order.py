"""Orders: the shop's ledger. It is in SQL alone."""

from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from shop.models.product import Product


class State(models.TextChoices):
    """How far an order is.

    reserved -> paid -> sent (paid at once, if it costs nothing); reserved -> expired (and -> paid after all, if the
    money came and copies are left); reserved or paid -> cancelled.
    """

    RESERVED = "reserved", _("waiting for payment")
    PAID = "paid", _("paid")
    SENT = "sent", _("sent")
    CANCELLED = "cancelled", _("cancelled")
    EXPIRED = "expired", _("not paid in time")


class OrderQuerySet(models.QuerySet["Order"]):
    """Orders."""

    def of(self, user_id: int) -> Self:
        """A person's, newest first."""
        return self.filter(user_id=user_id).order_by("-pk")

    def run_out(self, moment: datetime) -> Self:
        """Those whose reservation is over, and which were not paid."""
        return self.filter(state=State.RESERVED, reserved_until__lte=moment)

    def to_confirm(self) -> Self:
        """Those that are paid, and whose buyer has not been told."""
        return self.filter(state__in=(State.PAID, State.SENT), confirmed_at=None, paid_at__isnull=False)


class Order(models.Model):
    """What somebody bought, or is about to: while it is ``reserved`` its copies are set aside until ``reserved_until``.

    key: of the checkout that made it; the same checkout sent again is the same order.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("customer"),
        on_delete=models.SET_NULL,
        null=True,
        related_name="orders",
        db_index=False,
    )
    key = models.CharField(_("checkout"), max_length=64, unique=True, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.RESERVED)
    total = models.PositiveBigIntegerField(_("total"), help_text=_("In cents."))
    email = models.EmailField(_("e-mail address"))
    name = models.CharField(_("name"), max_length=150)
    address = models.TextField(_("address"), max_length=500)
    created_at = models.DateTimeField(_("ordered"), default=timezone.now)
    reserved_until = models.DateTimeField(_("reserved until"))
    paid_at = models.DateTimeField(_("paid"), null=True, blank=True)
    sent_at = models.DateTimeField(_("sent"), null=True, blank=True)
    cancelled_at = models.DateTimeField(_("cancelled"), null=True, blank=True)
    # How its buyer is written to: in the language of the request that ordered, with links to where it was made
    # ("https://host"). Empty: in the site's language, without links.
    language = models.CharField(_("language"), max_length=10, blank=True, editable=False)
    site = models.CharField(_("site"), max_length=200, blank=True, editable=False)
    # When its buyer was written to; empty: not yet.
    confirmed_at = models.DateTimeField(_("confirmation sent"), null=True, blank=True, editable=False)

    objects = OrderQuerySet.as_manager()

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        constraints = [models.CheckConstraint(condition=Q(state__in=State.values), name="shop_order_state")]
        indexes = [
            models.Index(fields=["user", "-id"], name="shop_order_of_user"),
            models.Index(fields=["reserved_until"], condition=Q(state="reserved"), name="shop_order_reserved"),
            models.Index(fields=["state", "-id"], name="shop_order_by_state"),
            models.Index(
                fields=["paid_at"],
                condition=Q(confirmed_at=None, paid_at__isnull=False),
                name="shop_order_to_confirm",
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.pk}"


class OrderLine(models.Model):
    """So many copies of a product in an order, at what each cost then, in cents."""

    order = models.ForeignKey(
        Order, verbose_name=_("order"), on_delete=models.CASCADE, related_name="lines", db_index=False
    )
    product = models.ForeignKey(
        Product, verbose_name=_("product"), on_delete=models.PROTECT, related_name="order_lines"
    )
    title = models.CharField(_("title"), max_length=500)
    quantity = models.PositiveIntegerField(_("quantity"))
    price = models.PositiveIntegerField(_("price"), help_text=_("In cents, for one."))

    class Meta:
        verbose_name = _("line of an order")
        verbose_name_plural = _("lines of an order")
        constraints = [
            models.UniqueConstraint(fields=["order", "product"], name="shop_orderline_once"),
            models.CheckConstraint(condition=Q(quantity__gt=0), name="shop_orderline_some"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} × {self.title}"

    @property
    def total(self) -> int:
        """What they cost together, in cents."""
        return self.quantity * self.price
