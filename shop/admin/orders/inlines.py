"""The books, payments and steps on the page of an order."""

from typing import Any, ClassVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import display

from accounts.admin_tools import PermittedLinks
from shop.admin.orders.slips import PACKED
from shop.delivery.vat import format_rate
from shop.invoices.models import Invoice
from shop.models import OrderEvent, OrderLine, Payment
from shop.money import format_money, format_money_of
from shop.selectors.order_lines import annotate_refunds


class _OrderInline(PermittedLinks, TabularInline):
    """Read-only rows of an order, for staff with a permission on orders."""

    extra = 0
    can_delete = False
    hide_title = True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.has_perm("shop.view_order") or request.user.has_perm("shop.change_order"))

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class LineInline(_OrderInline):
    """The books of an order, at the prices of that time."""

    model = OrderLine
    verbose_name_plural = _("books")
    fields = readonly_fields = ["title", "copies", "in_parcel", "unit_price", "line_total", "line_vat"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[OrderLine]:
        return annotate_refunds(super().get_queryset(request).select_related("order"))

    @display(description=_("quantity"))
    def copies(self, line: Any) -> str:
        if not line.refunded:
            return str(line.quantity)
        return f"{line.quantity} {gettext('(of which %(n)s refunded)') % {'n': line.refunded}}"

    @display(description=_("in the parcel"))
    def in_parcel(self, line: Any) -> str:
        return str(line.to_send) if line.order.state in PACKED else "–"

    @display(description=_("price"))
    def unit_price(self, line: OrderLine) -> str:
        return format_money(line.price)

    @display(description=_("total"))
    def line_total(self, line: OrderLine) -> str:
        return format_money(line.total)

    @display(description=_("included VAT"))
    def line_vat(self, line: OrderLine) -> str:
        if line.vat is None or line.vat_rate is None:
            return "–"
        return f"{format_money(line.vat)} ({format_rate(line.vat_rate)}%)"


class PaymentInline(_OrderInline):
    """The attempts to pay for an order."""

    model = Payment
    ordering: ClassVar[Any] = ["pk"]
    fields = readonly_fields = ["words", "formatted_sum", "refunds", "reference", "failure", "created_at", "updated_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Payment]:
        return super().get_queryset(request).prefetch_related("refunds")

    @display(description=_("state"))
    def words(self, payment: Payment) -> str:
        return str(payment.status.label)

    @display(description=_("amount"))
    def formatted_sum(self, payment: Payment) -> str:
        return format_money(payment.amount)

    @display(description=_("refunds"))
    def refunds(self, payment: Payment) -> str:
        found = [
            f"{format_money(refund.amount)} {refund.get_state_display()} ({refund.why})"
            for refund in payment.refunds.all()
        ]
        return "; ".join(found) or "–"

    @display(description=_("reason"))
    def failure(self, payment: Payment) -> str:
        return payment.why


class InvoiceInline(_OrderInline):
    """The invoice of an order and its credit notes."""

    model = Invoice
    ordering: ClassVar[Any] = ["pk"]
    fields = readonly_fields = ["document", "kind", "formatted_sum", "issued_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Invoice]:
        return super().get_queryset(request).defer("content")

    @display(description=_("number"))
    def document(self, invoice: Invoice) -> SafeString:
        address = reverse("admin:invoices_invoice_pdf", args=[invoice.pk])
        return format_html('<a class="underline" href="{}">{} (PDF)</a>', address, invoice.number)

    @display(description=_("total"))
    def formatted_sum(self, invoice: Invoice) -> str:
        return format_money_of(invoice.total, invoice.currency)


class EventInline(_OrderInline):
    """The steps of an order, with the notes of staff."""

    model = OrderEvent
    fields = readonly_fields = ["created_at", "kind", "by", "remark"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[OrderEvent]:
        return super().get_queryset(request).select_related("by")

    @display(description=_("note"))
    def remark(self, event: OrderEvent) -> str:
        return event.why
