"""Invoices and credit notes. Their numbers have no gaps, and their content never changes."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from shop.models import Order, Refund


class InvoiceKind(models.TextChoices):
    """Kinds of documents. Each has a series of numbers for each year."""

    INVOICE = "invoice", _("invoice")
    CREDIT_NOTE = "credit", _("credit note")


class InvoiceCounter(models.Model):
    """The last number of a series. Its row is locked from the next number until the end of the transaction."""

    kind = models.CharField(_("kind"), max_length=7, choices=InvoiceKind)
    year = models.PositiveSmallIntegerField(_("year"))
    last = models.PositiveIntegerField(_("last number"))

    class Meta:
        verbose_name = _("series of invoices")
        verbose_name_plural = _("series of invoices")
        constraints = [models.UniqueConstraint(fields=["kind", "year"], name="invoices_counter_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.year}: {self.last}"


class Invoice(models.Model):
    """The invoice of a paid order, or a credit note of one of its refunds.

    total, vat: in cents of the currency, negative in a credit note; vat is None if the shop charged none. content:
    seller, buyer, lines and VAT by rate as they were when it was issued (``shop.invoices.content``).
    """

    kind = models.CharField(_("kind"), max_length=7, choices=InvoiceKind)
    year = models.PositiveSmallIntegerField(_("year"))
    serial = models.PositiveIntegerField(_("number in its series"))
    number = models.CharField(_("number"), max_length=20, unique=True)
    order = models.ForeignKey(Order, verbose_name=_("order"), on_delete=models.PROTECT, related_name="invoices")
    refund = models.OneToOneField(
        Refund, verbose_name=_("refund"), on_delete=models.PROTECT, null=True, blank=True, related_name="credit_note"
    )
    total = models.BigIntegerField(_("total"), help_text=_("In cents."))
    vat = models.BigIntegerField(_("included VAT"), null=True, blank=True)
    currency = models.CharField(_("currency"), max_length=3)
    content = models.JSONField(_("content"))
    issued_at = models.DateTimeField(_("issued"), default=timezone.now)

    class Meta:
        verbose_name = _("invoice")
        verbose_name_plural = _("invoices")
        constraints = [
            models.UniqueConstraint(fields=["kind", "year", "serial"], name="invoices_invoice_serial"),
            models.UniqueConstraint(fields=["order"], condition=Q(kind="invoice"), name="invoices_invoice_of_order"),
            models.CheckConstraint(
                condition=Q(kind="invoice", refund=None, total__gt=0)
                | Q(kind="credit", refund__isnull=False, total__lt=0),
                name="invoices_invoice_kind",
            ),
        ]

    def __str__(self) -> str:
        return self.number
