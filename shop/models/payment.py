"""Requests to the payment provider and their results."""

from typing import Final, Self

from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.utils import timezone
from django.utils.translation import gettext as translated
from django.utils.translation import gettext_lazy as _

from shop.models.order import Order


class PaymentState(models.TextChoices):
    """The states of a payment.

    started: requested, and the result is not known yet. surplus: the money arrived, but no copies were sold for it, so
    it is refunded.
    """

    STARTED = "started", _("waiting for the payment provider")
    SUCCEEDED = "succeeded", _("paid")
    SURPLUS = "surplus", _("paid in excess")
    FAILED = "failed", _("failed")


class PaymentStatus(models.TextChoices):
    """A payment with its refunds in one word, for pages, filters and files."""

    STARTED = "started", _("waiting for the payment provider")
    SUCCEEDED = "succeeded", _("paid")
    FAILED = "failed", _("failed")
    REFUND_DUE = "refund due", _("to be refunded")
    PARTLY_REFUNDED = "partly refunded", _("refunded in part")
    REFUNDED = "refunded", _("refunded")


# The payments of each status that depends on refunds.
_REFUND_CONDITIONS: Final = {
    PaymentStatus.REFUND_DUE: Q(refund_due__gt=0),
    PaymentStatus.REFUNDED: Q(refund_due=0, refunded__gt=0, refunded=F("amount")),
    PaymentStatus.PARTLY_REFUNDED: Q(refund_due=0, refunded__gt=0, refunded__lt=F("amount")),
}


class PaymentQuerySet(models.QuerySet["Payment"]):
    """Queries for payments."""

    def of_status(self, status: str) -> Self:
        """Payments whose ``Payment.status`` is this one."""
        conditions = {str(each): condition for each, condition in _REFUND_CONDITIONS.items()}
        return self.filter(conditions.get(status, Q(state=status, refund_due=0, refunded=0)))

    def with_status(self) -> Self:
        """Add ``status_now``: ``Payment.status`` in SQL."""
        cases = [When(condition, then=Value(str(status))) for status, condition in _REFUND_CONDITIONS.items()]
        return self.annotate(status_now=Case(*cases, default=F("state"), output_field=models.CharField()))


class Payment(models.Model):
    """One attempt to pay for an order. key: identifies the charge to the provider, so that it charges once.

    refund_due, refunded: the sums of its refunds that the provider has not made and has made, in cents. They change
    with the refunds (``shop.services.refunds``), so that a constraint can bound them.
    """

    order = models.ForeignKey(Order, verbose_name=_("order"), on_delete=models.PROTECT, related_name="payments")
    key = models.CharField(_("key"), max_length=64, unique=True, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=PaymentState, default=PaymentState.STARTED)
    amount = models.PositiveBigIntegerField(_("amount"), help_text=_("In cents."))
    refund_due = models.PositiveBigIntegerField(_("to be refunded"), default=0, db_default=0)
    refunded = models.PositiveBigIntegerField(_("refunded"), default=0, db_default=0)
    reference = models.CharField(_("reference"), max_length=100, blank=True, help_text=_("Given by the provider."))
    reason = models.CharField(_("reason"), max_length=200, blank=True, help_text=_("Reason for the failure."))
    created_at = models.DateTimeField(_("requested"), default=timezone.now)
    updated_at = models.DateTimeField(_("last update"), default=timezone.now)
    # While the payment is open: the next time to ask the provider for its result.
    ask_at = models.DateTimeField(_("next query"), default=timezone.now, editable=False)

    objects = PaymentQuerySet.as_manager()

    class Meta:
        verbose_name = _("payment")
        verbose_name_plural = _("payments")
        constraints = [
            models.CheckConstraint(condition=Q(state__in=PaymentState.values), name="shop_payment_state"),
            models.CheckConstraint(
                condition=Q(amount__gte=F("refund_due") + F("refunded")), name="shop_payment_refunds_fit"
            ),
            models.UniqueConstraint(fields=["order"], condition=Q(state="succeeded"), name="shop_payment_paid_once"),
            models.UniqueConstraint(fields=["order"], condition=Q(state="started"), name="shop_payment_one_try"),
        ]
        indexes = [
            models.Index(fields=["state", "updated_at"], name="shop_payment_by_state"),
            models.Index(fields=["ask_at"], condition=Q(state="started"), name="shop_payment_started"),
            models.Index(fields=["updated_at"], condition=Q(refund_due__gt=0), name="shop_payment_refund_due"),
        ]

    def __str__(self) -> str:
        return f"{self.order}: {self.status.label}"

    @property
    def status(self) -> PaymentStatus:
        """The payment with its refunds in one word."""
        if self.refund_due:
            return PaymentStatus.REFUND_DUE
        if self.refunded:
            return PaymentStatus.REFUNDED if self.refunded == self.amount else PaymentStatus.PARTLY_REFUNDED
        return PaymentStatus(self.state)

    @property
    def left(self) -> int:
        """The cents for which no refund was ordered."""
        return self.amount - self.refund_due - self.refunded

    @property
    def why(self) -> str:
        """The reason of a failure, translated into the reader's language if it is a known text."""
        return translated(self.reason) if self.reason else ""
