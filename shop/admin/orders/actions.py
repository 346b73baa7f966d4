"""The actions on the page of an order."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.forms import Form
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.translation import gettext

from common.refusals import Refused
from shop.admin.orders.forms import NoteForm, RefundForm, TrackingForm
from shop.admin.orders.slips import PackingSlips
from shop.admin.row_actions import ACTION
from shop.delivery.tracking import Tracking
from shop.models import Order, OrderState, PaymentState, PaymentStatus, Return
from shop.money import format_money
from shop.selectors.order_states import TO_SEND
from shop.services.order_work import add_note, change_tracking, resend_confirmation
from shop.services.orders import cancel_order, mark_order_sent
from shop.services.refunds import REFUNDED_BY_STAFF, load_refundable_parts, refund_order
from shop.services.stock import count_copies_to_send


class OrderActions(NamedTuple):
    """What the page of an order offers.

    tracking, refund, note: forms that are shown; None if they are not. returns: of books of the order, the oldest
    first.
    """

    order: Order
    tracking: TrackingForm | None
    refund: RefundForm | None
    note: NoteForm
    returns: Sequence[Return]
    can_be_cancelled: bool
    can_be_confirmed: bool

    @property
    def can_be_sent(self) -> bool:
        """Whether the order waits to be sent."""
        return self.order.fulfilment == TO_SEND

    @property
    def is_refund_due(self) -> bool:
        """Whether a refund is under way, before whose end no other one begins."""
        is_on_its_way = self.tracking is not None
        return is_on_its_way and self.order.payment_state == PaymentStatus.REFUND_DUE

    @property
    def can_refund_everything(self) -> bool:
        """Whether a refund may take all that is left. An order that was not sent is cancelled instead."""
        return self.order.state == OrderState.SENT

    @property
    def has_slip(self) -> bool:
        """Whether the order has a parcel, so that staff print a packing slip."""
        return self.tracking is not None

    @property
    def parcel(self) -> Tracking:
        """The parcel, with the link to its carrier."""
        return Tracking(self.order.carrier, self.order.tracking_number)


def list_actions(order: Order) -> OrderActions:
    """Return the actions that the states of an order allow now. Services decide again when one is taken."""
    is_on_its_way = order.state in (OrderState.PAID, OrderState.SENT)
    is_refundable = order.payment_state in (PaymentStatus.SUCCEEDED, PaymentStatus.PARTLY_REFUNDED)
    return OrderActions(
        order,
        tracking=TrackingForm(order=order) if is_on_its_way else None,
        refund=make_refund_form(order) if is_on_its_way and is_refundable else None,
        note=NoteForm(),
        returns=list(order.returns.order_by("pk")),
        can_be_cancelled=order.state in (OrderState.RESERVED, OrderState.PAID),
        can_be_confirmed=is_on_its_way and order.paid_at is not None and order.email != "",
    )


def make_refund_form(order: Order, data: QueryDict | None = None) -> RefundForm:
    """Return the form of a refund, with what is left of the order. Four queries."""
    payment = order.payments.filter(state=PaymentState.SUCCEEDED).first()
    left, copies = payment.left if payment else 0, count_copies_to_send(order)
    return RefundForm(data, parts=load_refundable_parts(order), left=left, copies=copies)


class PageOfOrder(PackingSlips):
    """The page of an order, which takes its actions and records each of them."""

    change_form_outer_before_template = "shop/admin/order_actions.html"

    def list_page_actions(self, row: Order) -> dict[str, Any]:
        return {"actions": list_actions(row), "slips": reverse("admin:shop_order_changelist")}

    def make_action_form(self, request: HttpRequest, row: Order) -> Form | None:
        action = request.POST[ACTION]
        if action in ("send", "track"):
            return TrackingForm(request.POST, order=row)
        if action == "refund":
            return make_refund_form(row, request.POST)
        return NoteForm(request.POST) if action == "note" else None

    def take_action(self, action: str, row: Order, by: Any, form: Any) -> str:
        match action:
            case "send":
                mark_order_sent(row.pk, by, form.make_tracking(), form.cleaned_data["shown_copies"])
                return gettext("Marked as sent.")
            case "track":
                change_tracking(row.pk, by, form.make_tracking())
                return gettext("Tracking changed.")
            case "cancel":
                cancel_order(row.pk, by)
                return gettext("Cancelled.")
            case "refund":
                reason = form.cleaned_data["reason"] or REFUNDED_BY_STAFF
                made = refund_order(row.pk, by, reason=reason, **form.get_choice())
                return gettext("Refund ordered: %(amount)s.") % {"amount": format_money(made.amount)}
            case "confirm":
                resend_confirmation(row.pk, by)
                return gettext("The confirmation is sent again.")
            case "note":
                add_note(row.pk, by, form.cleaned_data["text"])
                return gettext("Note added.")
        raise Refused
