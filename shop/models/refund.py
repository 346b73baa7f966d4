"""Refunds: the money of a payment that goes back, in whole or in part."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as translated
from django.utils.translation import gettext_lazy as _

from shop.models.order import OrderLine
from shop.models.payment import Payment
from shop.money import format_money


class RefundState(models.TextChoices):
    """The states of a refund. due: ordered, and the provider has not confirmed it yet."""

    DUE = "due", _("to be refunded")
    DONE = "done", _("refunded")


class Refund(models.Model):
    """Money of a payment that goes back. key: identifies the refund to the provider, so that it refunds once.

    by: the member of staff who ordered it; None if the shop or the buyer did. reason: for the buyer and for staff.
    """

    payment = models.ForeignKey(Payment, verbose_name=_("payment"), on_delete=models.PROTECT, related_name="refunds")
    key = models.CharField(_("key"), max_length=64, unique=True, editable=False)
    state = models.CharField(_("state"), max_length=4, choices=RefundState, default=RefundState.DUE)
    amount = models.PositiveBigIntegerField(_("amount"), help_text=_("In cents."))
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    created_at = models.DateTimeField(_("ordered"), default=timezone.now)
    done_at = models.DateTimeField(_("refunded"), null=True, blank=True)
    # While the refund is due: the next time to ask the provider for it.
    ask_at = models.DateTimeField(_("next query"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("refund")
        verbose_name_plural = _("refunds")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="shop_refund_some"),
            models.CheckConstraint(
                condition=Q(state="due", done_at=None) | Q(state="done", done_at__isnull=False),
                name="shop_refund_state",
            ),
        ]
        indexes = [
            models.Index(fields=["ask_at"], condition=Q(state="due"), name="shop_refund_due"),
            models.Index(fields=["done_at"], condition=Q(state="done"), name="shop_refund_by_day"),
        ]

    def __str__(self) -> str:
        return f"{self.payment.order}: {format_money(self.amount)}, {self.get_state_display()}"

    @property
    def why(self) -> str:
        """The reason, translated into the reader's language if it is a known text."""
        return translated(self.reason) if self.reason else ""


class RefundLine(models.Model):
    """The part of a refund that concerns one line of the order, or its delivery (``line`` is None).

    quantity: the copies that the buyer does not pay for any more; 0 for a lower price. is_unsent: whether the order was
    not sent yet, so that these copies went back into stock and no parcel has them. vat: what ``amount`` includes of it,
    in cents; None if the shop charged none.
    """

    refund = models.ForeignKey(Refund, verbose_name=_("refund"), on_delete=models.CASCADE, related_name="lines")
    line = models.ForeignKey(
        OrderLine,
        verbose_name=_("line of an order"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="refunds",
    )
    quantity = models.PositiveIntegerField(_("quantity"), default=0)
    is_unsent = models.BooleanField(_("before the order was sent"), default=False, db_default=False)
    amount = models.PositiveBigIntegerField(_("amount"), help_text=_("In cents."))
    vat = models.PositiveBigIntegerField(_("included VAT"), null=True, blank=True)

    class Meta:
        verbose_name = _("line of a refund")
        verbose_name_plural = _("lines of a refund")
        constraints = [
            models.UniqueConstraint(fields=["refund", "line"], name="shop_refundline_once"),
            models.UniqueConstraint(fields=["refund"], condition=Q(line=None), name="shop_refundline_delivery"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} × {self.line or _('delivery')}"
