"""Payments in the admin, and the charges of the fake provider."""

from typing import Final

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin_tools import Column, ExportAdmin
from shop.admin.base import FoundByOrder, ReadOnlyAdmin
from shop.models import FakeCharge, Payment
from shop.money import format_money

STATE_LABELS: Final = {
    "started": "warning",
    "succeeded": "success",
    "failed": "danger",
    "refund due": "warning",
    "partly refunded": "info",
    "refunded": "info",
}


@admin.register(Payment)
class PaymentAdmin(FoundByOrder, ExportAdmin, ReadOnlyAdmin):
    """Requests to the payment provider and their results."""

    list_display = ["order_number", "status", "failure", "formatted_sum", "reference", "created_at", "updated_at"]
    list_display_links = ["created_at"]
    list_filter = ["state"]
    linked_lookups = ["updated_at__gte", "refund_due__gt"]  # the figures of the home page
    search_fields = ["key"]
    search_help_text = _("an order number, or the provider's exact key")
    fields = [
        "order", "state", "formatted_sum", "refunds_made", "refunds_due", "key", "reference", "failure",
        "created_at", "updated_at", "ask_at",
    ]  # fmt: skip
    readonly_fields = fields
    actions = ["export_csv"]
    export_columns = [
        Column("order", "order"),
        Column("state", "state"),
        Column("amount_in_cents", "amount"),
        Column("refunded_in_cents", "refunded"),
        Column("refund_due_in_cents", "refund_due"),
        Column("reference", "reference"),
        Column("reason", "reason"),
        Column("requested", "created_at"),
        Column("updated", "updated_at"),
    ]

    def find_exactly(self, rows: QuerySet[Payment], text: str) -> QuerySet[Payment]:
        return rows.filter(key=text)

    @display(description=_("state"), label=STATE_LABELS)
    def status(self, payment: Payment) -> tuple[str, str]:
        return payment.status, str(payment.status.label)

    @display(description=_("reason"))
    def failure(self, payment: Payment) -> str:
        return payment.why

    @display(description=_("amount"))
    def formatted_sum(self, payment: Payment) -> str:
        return format_money(payment.amount)

    @display(description=_("refunded"))
    def refunds_made(self, payment: Payment) -> str:
        return format_money(payment.refunded)

    @display(description=_("to be refunded"))
    def refunds_due(self, payment: Payment) -> str:
        return format_money(payment.refund_due)


@admin.register(FakeCharge)
class FakeChargeAdmin(ReadOnlyAdmin):
    """The fake provider's own charges."""

    list_display = ["key", "formatted_sum", "succeeds", "reason", "answers_at", "refunded_sum"]
    search_fields = ["key"]
    fields = ["key", "formatted_sum", "succeeds", "reason", "answers_at", "refunded_sum", "created_at"]
    readonly_fields = fields

    @display(description=_("amount"))
    def formatted_sum(self, charge: FakeCharge) -> str:
        return format_money(charge.amount)

    @display(description=_("refunded"))
    def refunded_sum(self, charge: FakeCharge) -> str:
        return format_money(charge.refunded)
