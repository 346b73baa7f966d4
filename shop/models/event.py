"""The steps of an order, kept for staff and for the investigation of errors."""

from typing import Final

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as translated
from django.utils.translation import gettext_lazy as _

from shop.models.order import Order
from shop.models.payment import Payment

MAX_NOTE: Final = 1000  # characters


class EventKind(models.TextChoices):
    """Kinds of steps of an order."""

    ORDERED = "ordered", _("ordered, copies reserved")
    ASKED = "asked", _("payment requested from the provider")
    REFUSED = "refused", _("payment failed")
    PAID = "paid", _("paid")
    FREE = "free", _("confirmed, nothing to pay")
    PAID_LATE = "paid late", _("paid too late, but copies were available")
    EXPIRED = "expired", _("not paid in time, copies released")
    CANCELLED = "cancelled", _("cancelled, copies released")
    SENT = "sent", _("sent")
    REFUND_DUE = "refund due", _("refund due")
    REFUNDED = "refunded", _("refund made")
    RETURN_ASKED = "return asked", _("return asked")
    RETURN_ACCEPTED = "return accepted", _("return accepted")
    RETURN_REFUSED = "return refused", _("return refused")
    RETURN_RECEIVED = "return received", _("returned books received")
    CONFIRMED = "confirmed", _("confirmation sent")
    RESENT = "resent", _("confirmation sent again")
    TRACKED = "tracked", _("tracking changed")
    NOTE = "note", _("note")


# Kinds whose notes staff typed: text about the buyer, which is not translated and does not outlive the account.
TYPED_KINDS: Final = (EventKind.NOTE, EventKind.TRACKED, EventKind.SENT)


class OrderEvent(models.Model):
    """One step of an order, written in the same transaction as the change and never modified.

    by: the user who caused it, if any. payment: the payment that it concerns. note: the provider's message, the reason,
    or what staff wrote for staff.
    """

    order = models.ForeignKey(
        Order, verbose_name=_("order"), on_delete=models.CASCADE, related_name="events", db_index=False
    )
    kind = models.CharField(_("event"), max_length=20, choices=EventKind)
    payment = models.ForeignKey(
        Payment, verbose_name=_("payment"), on_delete=models.CASCADE, null=True, blank=True, related_name="events"
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    note = models.CharField(_("note"), max_length=MAX_NOTE, blank=True)
    created_at = models.DateTimeField(_("time"), default=timezone.now)

    class Meta:
        verbose_name = _("order event")
        verbose_name_plural = _("order events")
        ordering = ["pk"]
        indexes = [models.Index(fields=["order", "id"], name="shop_event_of_order")]

    def __str__(self) -> str:
        return f"{self.order}: {self.get_kind_display()}"

    @property
    def why(self) -> str:
        """The note, translated into the reader's language if the site wrote it."""
        return translated(self.note) if self.note and self.kind not in TYPED_KINDS else self.note
