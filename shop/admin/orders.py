"""Orders in the admin. Services change their state; no order is deleted."""

from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple

from django.contrib import admin
from django.contrib.admin.models import CHANGE
from django.db.models import Case, Model, OuterRef, Q, QuerySet, Subquery, When
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import display

from accounts.admin_tools import Column, ExportAdmin, Question, ask_for_confirmation, is_confirmed
from accounts.models import User
from common import clock
from common.ids import parse_id
from common.refusals import Refused
from common.text import fold
from shop.addresses.countries import get_country_name
from shop.admin.base import LedgerAdmin
from shop.admin.concurrent_edits import ConcurrentEditForm, SerialisedEdits
from shop.admin.payments import STATE_LABELS as PAYMENT_LABELS
from shop.admin.row_actions import UnchangedRow, apply_to_each, warn_of_unchanged
from shop.delivery.vat import format_rate
from shop.models import Order, OrderEvent, OrderLine, OrderState, Payment, PaymentState, PaymentStatus, Refund
from shop.money import format_money
from shop.selectors.orders import OrderView
from shop.services.errors import NotRefundable, NotSent
from shop.services.orders import cancel_order, mark_order_sent
from shop.services.refunds import refund_order

MAX_SEARCHED_ORDERS: Final = 50_000  # number of newest orders that a search for an address covers
STATE_LABELS: Final = {
    "reserved": "warning",
    "paid": "info",
    "sent": "success",
    "cancelled": "danger",
    "expired": "danger",
}


class _Step(NamedTuple):
    """A step that staff take with orders. state: orders in it stay as they are. describe: returns the message."""

    do: Callable[[int, Any], Order | Refund]
    state: OrderState | None
    question: Any
    effect: Any
    button: Any
    note: Any
    describe: Callable[[int], str]


SENDING: Final = _Step(
    lambda pk, by: mark_order_sent(pk, by),
    OrderState.SENT,
    _("Mark these orders as sent?"),
    _("The buyers get an email that their orders are on the way."),
    _("Mark as sent"),
    _("Marked as sent."),
    lambda count: ngettext("%(n)d order was marked as sent.", "%(n)d orders were marked as sent.", count),
)
CANCELLING: Final = _Step(
    lambda pk, by: cancel_order(pk, by),
    OrderState.CANCELLED,
    _("Cancel these orders?"),
    _("The copies go back into stock, payments are refunded, and the buyers get an email. This cannot be undone."),
    _("Cancel orders"),
    _("Cancelled."),
    lambda count: ngettext("%(n)d order was cancelled.", "%(n)d orders were cancelled.", count),
)
REFUNDING: Final = _Step(
    refund_order,
    None,
    _("Refund these orders?"),
    _("The payments of sent orders are refunded, and the buyers get an email. This cannot be undone."),
    _("Refund orders"),
    _("Refund ordered."),
    lambda count: ngettext("%(n)d order will be refunded.", "%(n)d orders will be refunded.", count),
)


class _PaymentFilter(admin.SimpleListFilter):
    """Orders with a payment of one status."""

    title = _("payment")
    parameter_name = "payment"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(PaymentStatus.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        if self.value() not in PaymentStatus.values:
            return queryset
        return queryset.filter(pk__in=Payment.objects.of_status(str(self.value())).values("order"))


class _OrderInline(TabularInline):
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
    fields = readonly_fields = ["title", "quantity", "unit_price", "line_total", "line_vat"]

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


class EventInline(_OrderInline):
    """The steps of an order."""

    model = OrderEvent
    fields = readonly_fields = ["created_at", "kind", "by", "remark"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[OrderEvent]:
        return super().get_queryset(request).select_related("by")

    @display(description=_("note"))
    def remark(self, event: OrderEvent) -> str:
        return event.why


@admin.register(Order)
class OrderAdmin(SerialisedEdits, ExportAdmin, LedgerAdmin):
    """Search, send and cancel orders, and correct their addresses."""

    form = ConcurrentEditForm
    personal_fields = ("name", "email", "address", "phone")
    list_display = ["number", "customer", "status", "payment", "formatted_sum", "created_at", "paid_at"]
    list_display_links = ["number"]
    list_filter = ["state", _PaymentFilter, "paid_at"]
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
        "state", "payment_words", "customer", "formatted_sum", "delivery", "vat_sum",
        "name", "email", "address", "phone", "country_name",
        "created_at", "reserved_until", "paid_at", "confirmed_at", "sent_at", "cancelled_at",
    ]  # fmt: skip
    readonly_fields = [name for name in fields if name not in ("name", "email", "address", "phone")]
    inlines = [LineInline, PaymentInline, EventInline]
    actions = ["mark_sent", "cancel_orders", "refund_orders", "export_csv"]
    export_columns = [
        Column("number", "pk"),
        Column("state", "state"),
        Column("payment", "payment_state"),
        Column("total_in_cents", "total"),
        Column("delivery", "delivery_name"),
        Column("delivery_in_cents", "delivery_price"),
        Column("vat_in_cents", "vat"),
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
        return super().get_queryset(request).prefetch_related("payments")

    @admin.action(description=_("Download selected rows as CSV"), permissions=["view"])
    def export_csv(self, request: HttpRequest, rows: QuerySet[Order]) -> StreamingHttpResponse:
        has_failed = Case(When(state=PaymentState.FAILED, then=1), default=0)
        payments = Payment.objects.with_status().filter(order=OuterRef("pk")).order_by(has_failed, "-pk")
        return super().export_csv(request, rows.annotate(payment_state=Subquery(payments.values("status_now")[:1])))

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
            return gettext("guest") if order.is_of_guest else "–"
        address = reverse("admin:shop_order_changelist")
        return format_html(
            '<a class="underline" href="{}?user__id__exact={}">{}</a>', address, order.user_id, order.user.username
        )

    @display(description=_("delivery"))
    def delivery(self, order: Order) -> str:
        if not order.delivery_name:
            return "–"
        days = OrderView(order, (), (), clock.now()).arrival
        return ", ".join(filter(None, (order.delivery_name, format_money(order.delivery_price), days)))

    @display(description=_("included VAT"))
    def vat_sum(self, order: Order) -> str:
        return "–" if order.vat is None else format_money(order.vat)

    @display(description=_("country"))
    def country_name(self, order: Order) -> str:
        return get_country_name(order.country) if order.country else "–"

    @display(description=_("state"), label=STATE_LABELS)
    def status(self, order: Order) -> tuple[str, str]:
        return order.state, order.get_state_display()

    @display(description=_("payment"), label=PAYMENT_LABELS)
    def payment(self, order: Order) -> tuple[str, str] | str:
        status = _find_payment_status(order)
        return (status, str(status.label)) if status else "–"

    @display(description=_("payment"))
    def payment_words(self, order: Order) -> str:
        status = _find_payment_status(order)
        return str(status.label) if status else "–"

    @display(description=_("total"))
    def formatted_sum(self, order: Order) -> str:
        return format_money(order.total)

    @admin.action(description=_("Mark selected orders as sent"), permissions=["change"])
    def mark_sent(self, request: HttpRequest, rows: QuerySet[Order]) -> HttpResponse | None:
        return self._run(request, rows, SENDING)

    @admin.action(description=_("Cancel selected orders and refund them"), permissions=["change"])
    def cancel_orders(self, request: HttpRequest, rows: QuerySet[Order]) -> HttpResponse | None:
        return self._run(request, rows, CANCELLING)

    @admin.action(description=_("Refund selected orders that were sent"), permissions=["change"])
    def refund_orders(self, request: HttpRequest, rows: QuerySet[Order]) -> HttpResponse | None:
        return self._run(request, rows, REFUNDING)

    def _run(self, request: HttpRequest, rows: QuerySet[Order], step: "_Step") -> HttpResponse | None:
        """Take a step with each selected order. First ask for a confirmation, because buyers are told by email."""
        if not is_confirmed(request):
            return self._ask(request, rows, step)
        count = self._each(request, rows, step)
        self.done(request, step.describe(count), count)
        return None

    def _ask(self, request: HttpRequest, rows: QuerySet[Order], step: "_Step") -> HttpResponse | None:
        """Return the confirmation page."""
        found = self.chosen(request, rows)
        question = Question(request.POST["action"], step.question, step.effect, step.button)
        lines = [
            (order, f"{order}: {order.name}, {format_money(order.total)}, {order.get_state_display()}")
            for order in found
        ]
        return ask_for_confirmation(self, request, question, lines) if found else None

    def _each(self, request: HttpRequest, rows: QuerySet[Order], step: "_Step") -> int:
        """Take the step with each selected order and report those that stay unchanged. Return the number of others."""
        found = self.chosen(request, rows)
        done, undone = apply_to_each(
            [order for order in found if order.state != step.state],
            lambda order: step.do(order.pk, request.user),
            _explain_refusal,
        )
        self.log(request, done, CHANGE, str(step.note))
        warn_of_unchanged(
            self,
            request,
            [
                *undone,
                *(UnchangedRow(order, str(order.get_state_display())) for order in found if order.state == step.state),
            ],
        )
        return len(done)


def _find_payment_status(order: Order) -> PaymentStatus | None:
    """Return the status of the payment that counts: the newest that did not fail, else the newest."""
    found = sorted(order.payments.all(), key=lambda payment: (payment.state != PaymentState.FAILED, payment.pk))
    return found[-1].status if found else None


def _explain_refusal(order: Order, refusal: Refused) -> str:
    """Return why a step was refused: the reason, or the present state of the order."""
    if isinstance(refusal, (NotRefundable, NotSent)):
        return str(refusal)
    now = Order.objects.filter(pk=order.pk).first()
    return now.get_state_display() if now else gettext("it no longer exists")
