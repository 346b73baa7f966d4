"""The actions on the page of an order: forms beside its fields, which post to the page with a name of the action."""

from typing import Any, Final, NamedTuple

from django.contrib import messages
from django.contrib.admin.models import CHANGE
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from common.refusals import Refused
from common.web import redirect_to
from shop.admin.orders.forms import NoteForm, RefundForm, TrackingForm
from shop.admin.orders.slips import PackingSlips
from shop.admin.orders.steps import explain_refusal
from shop.delivery.tracking import Tracking
from shop.models import Order, OrderState, PaymentStatus
from shop.money import format_money
from shop.selectors.order_states import TO_SEND
from shop.services.order_work import add_note, change_tracking, resend_confirmation
from shop.services.orders import cancel_order, mark_order_sent
from shop.services.refunds import REFUNDED_BY_STAFF, load_refundable_parts, refund_order

ACTION: Final = "order_action"  # the parameter with the name of the action


class OrderActions(NamedTuple):
    """What the page of an order offers. tracking, refund, note: forms that are shown; None if they are not."""

    order: Order
    tracking: TrackingForm | None
    refund: RefundForm | None
    note: NoteForm
    can_be_cancelled: bool
    can_be_confirmed: bool

    @property
    def can_be_sent(self) -> bool:
        """Whether the order waits to be sent."""
        return self.order.fulfilment == TO_SEND

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
        refund=RefundForm(parts=load_refundable_parts(order)) if is_on_its_way and is_refundable else None,
        note=NoteForm(),
        can_be_cancelled=order.state in (OrderState.RESERVED, OrderState.PAID),
        can_be_confirmed=is_on_its_way and order.paid_at is not None and order.email != "",
    )


class PageOfOrder(PackingSlips):
    """The page of an order, which takes its actions and records each of them."""

    change_form_outer_before_template = "shop/admin/order_actions.html"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show an order, save its address, or take one of its actions (POST)."""
        if request.method == "POST" and ACTION in request.POST:
            return self._act(request, unquote(object_id))
        return super().change_view(request, object_id, form_url, extra_context)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Order | None = None,
    ) -> HttpResponse:
        if obj is not None and self.has_change_permission(request, obj):
            context |= {"actions": list_actions(obj), "slips": reverse("admin:shop_order_changelist")}
        return super().render_change_form(request, context, add, change, form_url, obj)

    def _act(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take the action that a form names, and return to the page."""
        # Without the lock of an edit, which needs a transaction: the service locks the order.
        order = super().get_object(request, object_id)
        if order is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.has_change_permission(request, order):
            raise PermissionDenied
        form = _make_form(request, order)
        if form is not None and not form.is_valid():
            words = [str(error) for errors in form.errors.values() for error in errors]
            self.message_user(request, " ".join(words), messages.ERROR)
            return redirect_to(request.path)
        try:
            done = _take(request.POST[ACTION], order, request.user, form)
        except Refused as refusal:
            text = gettext("Not changed: %(rows)s")
            self.message_user(request, text % {"rows": f"{order} ({explain_refusal(refusal)})"}, messages.ERROR)
        else:
            self.log(request, [order], CHANGE, done)
            self.message_user(request, done, messages.SUCCESS)
        return redirect_to(request.path)


def _make_form(request: HttpRequest, order: Order) -> Form | None:
    """Return the form of the action, or None for an action that is a button alone."""
    action = request.POST[ACTION]
    if action in ("send", "track"):
        return TrackingForm(request.POST, order=order)
    if action == "refund":
        return RefundForm(request.POST, parts=load_refundable_parts(order))
    return NoteForm(request.POST) if action == "note" else None


def _take(action: str, order: Order, by: Any, form: Any) -> str:
    """Take an action. Return the words for staff and for the log. Raises a subclass of Refused."""
    match action:
        case "send":
            mark_order_sent(order.pk, by, form.make_tracking())
            return gettext("Marked as sent.")
        case "track":
            change_tracking(order.pk, by, form.make_tracking())
            return gettext("Tracking changed.")
        case "cancel":
            cancel_order(order.pk, by)
            return gettext("Cancelled.")
        case "refund":
            reason = form.cleaned_data["reason"] or REFUNDED_BY_STAFF
            made = refund_order(order.pk, by, reason=reason, **form.get_choice())
            return gettext("Refund ordered: %(amount)s.") % {"amount": format_money(made.amount)}
        case "confirm":
            resend_confirmation(order.pk, by)
            return gettext("The confirmation is sent again.")
        case "note":
            add_note(order.pk, by, form.cleaned_data["text"])
            return gettext("Note added.")
    raise Refused
