"""The list of orders and the page of an order. Services change their state; no order is deleted."""

from typing import Any, Final

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import ModelForm
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin_tools import Column, ConcurrentEditForm, ExportAdmin, SerialisedEdits
from accounts.models import User
from common import clock
from common.ids import parse_id
from common.text import fold
from shop.addresses.countries import get_country_name
from shop.admin.orders.actions import PageOfOrder
from shop.admin.orders.filters import PaymentFilter
from shop.admin.orders.inlines import EventInline, InvoiceInline, LineInline, PaymentInline
from shop.admin.payments import STATE_LABELS as PAYMENT_LABELS
from shop.delivery.names import translate_method
from shop.delivery.tracking import Tracking
from shop.invoices.models import Invoice, InvoiceKind
from shop.models import Order, Payment, PaymentState
from shop.money import format_money
from shop.selectors.order_states import PAYMENT_STATES, annotate_states
from shop.selectors.orders import OrderView

MAX_SEARCHED_ORDERS: Final = 50_000  # number of newest orders that a search for an address covers
STATE_LABELS: Final = {
    "reserved": "warning",
    "paid": "info",
    "sent": "success",
    "cancelled": "danger",
    "expired": "danger",
}


@admin.register(Order)
class OrderAdmin(SerialisedEdits, ExportAdmin, PageOfOrder):
    """Search, send and cancel orders, and correct their addresses."""

    form = ConcurrentEditForm
    personal_fields = ("name", "email", "address", "phone")
    list_display = ["number", "customer", "status", "payment", "formatted_sum", "invoice", "created_at", "paid_at"]
    list_display_links = ["number"]
    list_filter = ["state", PaymentFilter, "paid_at"]
    linked_lookups = [  # the customer column, the page of a product and the figures of the home page
        "user__id__exact",
        "lines__product__exact",
        "state__in",
        "payments__state",
        "payments__refunds__done_at__gte",
        "payments__refunds__done_at__lt",
    ]
    list_select_related = ["user"]
    search_fields = ["email"]
    search_help_text = _("an order number, @name, or an email address of the last 50,000 orders")
    fields = [
        "state", "payment_words", "customer", "formatted_sum", "delivery", "parcel", "vat_sum",
        "name", "email", "address", "phone", "country_name",
        "created_at", "reserved_until", "paid_at", "confirmed_at", "sent_at", "cancelled_at",
    ]  # fmt: skip
    readonly_fields = [name for name in fields if name not in ("name", "email", "address", "phone")]
    inlines = [LineInline, PaymentInline, InvoiceInline, EventInline]
    actions = ["packing_slips", "mark_sent", "cancel_orders", "refund_orders", "export_csv"]
    export_columns = [
        Column("number", "pk"),
        Column("state", "state"),
        Column("fulfilment", "fulfilment"),
        Column("payment", "payment_state"),
        Column("total_in_cents", "total"),
        Column("refunded_in_cents", "refunded_cents"),
        Column("delivery", "delivery_name"),
        Column("delivery_in_cents", "delivery_price"),
        Column("carrier", "carrier"),
        Column("tracking_number", "tracking_number", "shop.change_order"),
        Column("vat_in_cents", "vat"),
        Column("invoice", "invoice_number"),
        Column("ordered", "created_at"),
        Column("paid", "paid_at"),
        Column("sent", "sent_at"),
        Column("cancelled", "cancelled_at"),
        Column("name", "name", "shop.change_order"),
        Column("email", "email", "shop.change_order"),
        Column("address", "address", "shop.change_order"),
        Column("phone", "phone", "shop.change_order"),
        Column("country", "country"),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        refunded = Payment.objects.filter(order=OuterRef("pk"), state=PaymentState.SUCCEEDED).values("refunded")
        invoice = Invoice.objects.filter(order=OuterRef("pk"), kind=InvoiceKind.INVOICE).values("number")
        found = annotate_states(super().get_queryset(request))
        return found.annotate(refunded_cents=Coalesce(Subquery(refunded[:1]), 0), invoice_number=Subquery(invoice))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Order], search_term: str
    ) -> tuple[QuerySet[Order], bool]:
        """Search by number or customer through an index, and by address among the newest orders only."""
        term = search_term.strip().removeprefix("#")
        if not term:
            return queryset, False
        if term.startswith("@"):
            who = User.objects.filter(name_key=fold(term[1:])).values_list("pk", flat=True).first()
            return queryset.filter(user=who or 0), False
        if (number := parse_id(term)) is not None:
            return queryset.filter(pk=number), False
        newest = Order.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        about = Q(email__icontains=term) | Q(name__icontains=term)
        return queryset.filter(about, pk__gt=newest - MAX_SEARCHED_ORDERS), False

    def save_model(self, request: HttpRequest, obj: Order, form: ModelForm, change: bool) -> None:
        # Save only edited fields; the others may have changed since the page was shown.
        obj.save(update_fields=form.changed_data)

    @display(description=_("order"), ordering="pk")
    def number(self, order: Order) -> str:
        return str(order)

    @display(description=_("customer"))
    def customer(self, order: Order) -> SafeString | str:
        if order.user is None:
            return gettext("%(name)s (guest)") % {"name": order.name or order.email} if order.is_of_guest else "–"
        address = reverse("admin:shop_order_changelist")
        return format_html(
            '<a class="underline" href="{}?user__id__exact={}">{}</a>', address, order.user_id, order.user.username
        )

    @display(description=_("delivery"))
    def delivery(self, order: Order) -> str:
        if not order.delivery_name:
            return "–"
        days = OrderView(order, (), (), clock.now()).arrival
        name, price = translate_method(order.delivery_name), format_money(order.delivery_price)
        return ", ".join(filter(None, (name, price, days)))

    @display(description=_("parcel"))
    def parcel(self, order: Order) -> str:
        return str(Tracking(order.carrier, order.tracking_number)) or "–"

    @display(description=_("included VAT"))
    def vat_sum(self, order: Order) -> str:
        return "–" if order.vat is None else format_money(order.vat)

    @display(description=_("country"))
    def country_name(self, order: Order) -> str:
        return get_country_name(order.country) if order.country else "–"

    @display(description=_("fulfilment"), label=STATE_LABELS)
    def status(self, order: Order) -> tuple[str, str]:
        return order.state, order.get_state_display()

    @display(description=_("payment"), label=PAYMENT_LABELS)
    def payment(self, order: Order) -> tuple[str, str]:
        return order.payment_state, self.payment_words(order)

    @display(description=_("payment"))
    def payment_words(self, order: Order) -> str:
        return str(PAYMENT_STATES[order.payment_state])

    @display(description=_("total"))
    def formatted_sum(self, order: Order) -> str:
        return format_money(order.total)

    @display(description=_("invoice"))
    def invoice(self, order: Any) -> str:
        return order.invoice_number or "–"
