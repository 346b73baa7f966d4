"""Requests to the payment provider and their results."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as translated
from django.utils.translation import gettext_lazy as _

from shop.models.order import Order


class PaymentState(models.TextChoices):
    """The states of a payment. started: requested, and the result is not known yet."""

    STARTED = "started", _("waiting for the payment provider")
    SUCCEEDED = "succeeded", _("paid")
    FAILED = "failed", _("failed")
    REFUND_DUE = "refund due", _("to be refunded")
    REFUNDED = "refunded", _("refunded")


class Payment(models.Model):
    """One attempt to pay for an order. key: identifies the charge to the provider, so that it charges once."""

    order = models.ForeignKey(Order, verbose_name=_("order"), on_delete=models.PROTECT, related_name="payments")
    key = models.CharField(_("key"), max_length=64, unique=True, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=PaymentState, default=PaymentState.STARTED)
    amount = models.PositiveBigIntegerField(_("amount"), help_text=_("In cents."))
    reference = models.CharField(_("reference"), max_length=100, blank=True, help_text=_("Given by the provider."))
    reason = models.CharField(_("reason"), max_length=200, blank=True, help_text=_("Reason for the failure."))
    created_at = models.DateTimeField(_("requested"), default=timezone.now)
    updated_at = models.DateTimeField(_("last update"), default=timezone.now)
    # While the payment is open: the next time to ask the provider for its result or for a refund.
    ask_at = models.DateTimeField(_("next query"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("payment")
        verbose_name_plural = _("payments")
        constraints = [
            models.CheckConstraint(condition=Q(state__in=PaymentState.values), name="shop_payment_state"),
            models.UniqueConstraint(fields=["order"], condition=Q(state="succeeded"), name="shop_payment_paid_once"),
            models.UniqueConstraint(fields=["order"], condition=Q(state="started"), name="shop_payment_one_try"),
        ]
        indexes = [
            models.Index(fields=["state", "updated_at"], name="shop_payment_by_state"),
            # One index for each state: SQLite uses a partial index only if the query repeats its condition.
            models.Index(fields=["ask_at"], condition=Q(state="started"), name="shop_payment_started"),
            models.Index(fields=["ask_at"], condition=Q(state="refund due"), name="shop_payment_refund"),
        ]

    def __str__(self) -> str:
        return f"{self.order}: {self.get_state_display()}"

    @property
    def why(self) -> str:
        """The reason of a failure, translated into the reader's language if it is a known text."""
        return translated(self.reason) if self.reason else ""
