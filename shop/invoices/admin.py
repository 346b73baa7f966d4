"""Invoices and credit notes in the admin, with their PDF. Nobody changes or deletes them."""

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin_tools import Column, ExportAdmin
from shop.admin.base import FoundByOrder, ReadOnlyAdmin, WithPermissionsOfOrders
from shop.invoices.models import Invoice
from shop.invoices.views import respond_with_pdf
from shop.money import format_money_of


@admin.register(Invoice)
class InvoiceAdmin(WithPermissionsOfOrders, FoundByOrder, ExportAdmin, ReadOnlyAdmin):
    """Invoices and credit notes, the newest first."""

    list_display = [
        "number",
        "kind",
        "order_number",
        "buyer",
        "formatted_sum",
        "formatted_vat",
        "issued_at",
        "document",
    ]
    list_display_links = ["number"]
    list_filter = ["kind", "issued_at"]
    search_fields = ["number"]
    search_help_text = _("the exact number, or an order number")
    fields = ["number", "kind", "order_number", "buyer", "formatted_sum", "formatted_vat", "issued_at", "document"]
    readonly_fields = fields
    actions = ["export_csv"]
    export_columns = [
        Column("number", "number"),
        Column("kind", "kind"),
        Column("corrects", "content__corrects"),
        Column("issued", "issued_at"),
        Column("order", "order"),
        Column("total_in_cents", "total"),
        Column("vat_in_cents", "vat"),
        Column("currency", "currency"),
        Column("country", "content__buyer__country"),
        Column("name", "content__buyer__name", "shop.change_order"),
        Column("address", "content__buyer__address", "shop.change_order"),
    ]

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def find_exactly(self, rows: QuerySet[Invoice], text: str) -> QuerySet[Invoice]:
        return rows.filter(number=text.upper())

    def get_urls(self) -> list[URLPattern]:
        pdf = path("<int:pk>/pdf/", self.admin_site.admin_view(self.download), name="invoices_invoice_pdf")
        return [pdf, *super().get_urls()]

    def download(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the PDF."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return respond_with_pdf(Invoice.objects.filter(pk=pk).first())

    @display(description=_("buyer"))
    def buyer(self, invoice: Invoice) -> str:
        return str(invoice.content["buyer"]["name"])

    @display(description=_("total"))
    def formatted_sum(self, invoice: Invoice) -> str:
        return format_money_of(invoice.total, invoice.currency)

    @display(description=_("included VAT"))
    def formatted_vat(self, invoice: Invoice) -> str:
        return "–" if invoice.vat is None else format_money_of(invoice.vat, invoice.currency)

    @display(description=_("document"))
    def document(self, invoice: Invoice) -> SafeString:
        address = reverse("admin:invoices_invoice_pdf", args=[invoice.pk])
        return format_html('<a class="underline" href="{}">PDF</a>', address)
