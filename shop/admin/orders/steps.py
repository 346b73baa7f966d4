"""Steps that staff take with selected orders, each after a question, because buyers are told by email."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from django.contrib import admin
from django.contrib.admin.models import CHANGE
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.admin_tools import Question, ask_for_confirmation, is_confirmed
from shop.admin.row_actions import PageWithActions, UnchangedRow, apply_to_each, explain_refusal, warn_of_unchanged
from shop.models import Order, OrderState, Payment, PaymentState, Refund
from shop.money import format_money
from shop.services.orders import cancel_order, mark_order_sent
from shop.services.refunds import refund_order


class _Step(NamedTuple):
    """A step that staff take with orders. state: orders in it stay as they are. describe: returns the message."""

    do: Callable[[int, Any], Order | Refund]
    state: OrderState | None
    question: Any
    effect: Any
    button: Any
    note: Any
    describe: Callable[[int], str]


_SENDING: Final = _Step(
    lambda pk, by: mark_order_sent(pk, by),
    OrderState.SENT,
    _("Mark these orders as sent?"),
    _("The buyers get an email that their orders are on the way."),
    _("Mark as sent"),
    _("Marked as sent."),
    lambda count: ngettext("%(n)d order was marked as sent.", "%(n)d orders were marked as sent.", count),
)
_CANCELLING: Final = _Step(
    lambda pk, by: cancel_order(pk, by),
    OrderState.CANCELLED,
    _("Cancel these orders?"),
    _("The copies go back into stock, payments are refunded, and the buyers get an email. This cannot be undone."),
    _("Cancel orders"),
    _("Cancelled."),
    lambda count: ngettext("%(n)d order was cancelled.", "%(n)d orders were cancelled.", count),
)
_REFUNDING: Final = _Step(
    lambda pk, by: refund_order(pk, by),
    None,
    _("Refund these orders?"),
    _("The payments of sent orders are refunded, and the buyers get an email. This cannot be undone."),
    _("Refund orders"),
    _("Refund ordered."),
    lambda count: ngettext("%(n)d order will be refunded.", "%(n)d orders will be refunded.", count),
)


def _find_left(orders: Sequence[Order]) -> dict[int, int]:
    """Return the cents that are left to refund of orders, by order."""
    payments = Payment.objects.filter(order__in=[order.pk for order in orders], state=PaymentState.SUCCEEDED)
    return {payment.order_id: payment.left for payment in payments}


def _describe(order: Order, left: int | None) -> str:
    parts = [order.name, format_money(order.total), str(order.get_state_display())]
    if left is not None:
        parts.append(gettext("left to refund: %(amount)s") % {"amount": format_money(left)})
    return f"{order}: {', '.join(parts)}"


class SelectedOrders(PageWithActions):
    """The actions of the list that change orders."""

    @admin.action(description=_("Mark selected orders as sent"), permissions=["change"])
    def mark_sent(self, request: HttpRequest, rows: QuerySet[Order]) -> HttpResponse | None:
        return self._run(request, rows, _SENDING)

    @admin.action(description=_("Cancel selected orders and refund them"), permissions=["change"])
    def cancel_orders(self, request: HttpRequest, rows: QuerySet[Order]) -> HttpResponse | None:
        return self._run(request, rows, _CANCELLING)

    @admin.action(description=_("Refund selected orders that were sent"), permissions=["change"])
    def refund_orders(self, request: HttpRequest, rows: QuerySet[Order]) -> HttpResponse | None:
        return self._run(request, rows, _REFUNDING)

    def _run(self, request: HttpRequest, rows: QuerySet[Order], step: _Step) -> HttpResponse | None:
        """Take a step with each selected order, after a confirmation."""
        if not is_confirmed(request):
            return self._ask(request, rows, step)
        count = self._each(request, rows, step)
        self.done(request, step.describe(count), count)
        return None

    def _ask(self, request: HttpRequest, rows: QuerySet[Order], step: _Step) -> HttpResponse | None:
        """Return the confirmation page."""
        found = self.chosen(request, rows)
        question = Question(request.POST["action"], step.question, step.effect, step.button)
        left = _find_left(found) if step is _REFUNDING else {}
        lines = [(order, _describe(order, left.get(order.pk))) for order in found]
        return ask_for_confirmation(self, request, question, lines) if found else None

    def _each(self, request: HttpRequest, rows: QuerySet[Order], step: _Step) -> int:
        """Take the step with each selected order and report those that stay unchanged. Return the number of others."""
        found = self.chosen(request, rows)
        done, undone = apply_to_each(
            [order for order in found if order.state != step.state],
            lambda order: step.do(order.pk, request.user),
            lambda order, refusal: explain_refusal(refusal),
        )
        self.log(request, done, CHANGE, str(step.note))
        same = [UnchangedRow(order, str(order.get_state_display())) for order in found if order.state == step.state]
        warn_of_unchanged(self, request, [*undone, *same])
        return len(done)
