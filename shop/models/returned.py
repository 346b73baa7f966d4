"""Returns: books of an order that its buyer sends back."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from shop.models.order import Order, OrderLine
from shop.models.refund import Refund


class ReturnState(models.TextChoices):
    """The states of a return: asked -> accepted -> received, or asked -> refused."""

    ASKED = "asked", _("waiting for our answer")
    ACCEPTED = "accepted", _("accepted, waiting for the books")
    RECEIVED = "received", _("books received")
    REFUSED = "refused", _("refused")


class ReturnReason(models.TextChoices):
    """Why a buyer returns a book. The law asks for no reason."""

    NONE = "", _("no reason")
    UNWANTED = "unwanted", _("I do not want it any more")
    DAMAGED = "damaged", _("it is damaged")
    WRONG = "wrong", _("it is not the book that I ordered")
    LATE = "late", _("it arrived too late")


OPEN_RETURNS = (ReturnState.ASKED, ReturnState.ACCEPTED)


class Return(models.Model):
    """Books that a buyer sends back. note: by the buyer. answer: by staff, why they refused.

    refund: of a received return; None if there was nothing to refund. is_restocked: whether the copies went back into
    stock.
    """

    order = models.ForeignKey(Order, verbose_name=_("order"), on_delete=models.CASCADE, related_name="returns")
    state = models.CharField(_("state"), max_length=8, choices=ReturnState, default=ReturnState.ASKED)
    note = models.CharField(_("note"), max_length=500, blank=True)
    answer = models.CharField(_("answer"), max_length=500, blank=True, help_text=_("Why the return is refused."))
    refund = models.OneToOneField(
        Refund, verbose_name=_("refund"), on_delete=models.PROTECT, null=True, blank=True, related_name="order_return"
    )
    is_restocked = models.BooleanField(_("back in stock"), default=False)
    created_at = models.DateTimeField(_("asked"), default=timezone.now)
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)
    received_at = models.DateTimeField(_("received"), null=True, blank=True)

    class Meta:
        verbose_name = _("return")
        verbose_name_plural = _("returns")
        constraints = [
            models.CheckConstraint(condition=Q(state__in=ReturnState.values), name="shop_return_state"),
        ]
        indexes = [models.Index(fields=["state", "-id"], name="shop_return_by_state")]

    def __str__(self) -> str:
        return self.number

    @property
    def number(self) -> str:
        """The number of the return, for the parcel and for emails."""
        return f"R{self.pk}"


class ReturnLine(models.Model):
    """The copies of one line of the order that are sent back."""

    order_return = models.ForeignKey(Return, verbose_name=_("return"), on_delete=models.CASCADE, related_name="lines")
    line = models.ForeignKey(
        OrderLine, verbose_name=_("line of an order"), on_delete=models.CASCADE, related_name="returns"
    )
    quantity = models.PositiveIntegerField(_("quantity"))
    reason = models.CharField(_("reason"), max_length=8, choices=ReturnReason, blank=True, default=ReturnReason.NONE)

    class Meta:
        verbose_name = _("line of a return")
        verbose_name_plural = _("lines of a return")
        constraints = [
            models.UniqueConstraint(fields=["order_return", "line"], name="shop_returnline_once"),
            models.CheckConstraint(condition=Q(quantity__gt=0), name="shop_returnline_some"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} × {self.line.title}"
