"""The charges and refunds of the fake payment provider, which a real provider keeps on its own machines
(``shop.payments.fake``).
"""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class FakeCharge(models.Model):
    """A charge under one key. It holds nothing of the card.

    succeeds: the final outcome. answers_at: the time from which the provider reports it; until then the charge is
    pending. refunded: the sum of its refunds, in cents.
    """

    key = models.CharField(_("key"), max_length=64, primary_key=True)
    amount = models.PositiveBigIntegerField(_("amount"), help_text=_("In cents."))
    succeeds = models.BooleanField(_("succeeds"))
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    answers_at = models.DateTimeField(_("answers at"), default=timezone.now)
    refunded = models.PositiveBigIntegerField(_("refunded"), default=0, db_default=0, help_text=_("In cents."))
    created_at = models.DateTimeField(_("requested"), default=timezone.now)

    class Meta:
        verbose_name = _("charge at the fake provider")
        verbose_name_plural = _("charges at the fake provider")
        constraints = [models.CheckConstraint(condition=Q(amount__gte=F("refunded")), name="shop_fakecharge_refunds")]

    def __str__(self) -> str:
        return self.key


class FakeRefund(models.Model):
    """A refund of a charge under a key of its own."""

    key = models.CharField(_("key"), max_length=64, primary_key=True)
    charge = models.ForeignKey(
        FakeCharge, verbose_name=_("charge at the fake provider"), on_delete=models.CASCADE, related_name="refunds"
    )
    amount = models.PositiveBigIntegerField(_("amount"), help_text=_("In cents."))
    created_at = models.DateTimeField(_("requested"), default=timezone.now)

    class Meta:
        verbose_name = _("refund at the fake provider")
        verbose_name_plural = _("refunds at the fake provider")

    def __str__(self) -> str:
        return self.key
