"""Read orders from SQL, for their customer only. Orders are the ledger and are never mirrored or cached."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, Final, NamedTuple

from django.db.models import Prefetch
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import MAX_ID
from shop.delivery.days import describe_arrival
from shop.delivery.tracking import Tracking
from shop.delivery.vat import sum_by_rate
from shop.invoices.selectors import InvoiceLink, list_invoices
from shop.models import EventKind, Order, OrderLine, OrderState, Payment, Return, ReturnState
from shop.models.payment import PaymentState, PaymentStatus
from shop.payments import get_provider
from shop.returns.rules import get_last_day, is_returnable, list_returnable_lines
from shop.selectors.links import OrderLinks, is_token, make_links, make_slip_path
from shop.selectors.order_lines import annotate_refunds
from shop.selectors.order_states import FREE, PAYMENT_STATES, UNPAID, annotate_states

TRACKED: Final = timedelta(weeks=3)  # for which the list of orders links to a parcel that was sent
ORDERS_PER_PAGE: Final = 20  # orders per page
EXPECTED_PAYMENTS: Final = {UNPAID, FREE, PaymentStatus.SUCCEEDED.value}


class Step(NamedTuple):
    """A step of an order, and its time, or None for one to come."""

    words: str | Promise
    at: datetime | None


class ReturnView(NamedTuple):
    """A return of the order. slip: the path of its slip, or "" if it has none."""

    found: Return
    slip: str


@dataclass
class OrderView:
    """An order as its customer sees it."""

    order: Order
    lines: Sequence[OrderLine]
    payments: Sequence[Payment]
    moment: datetime
    returns: Sequence[ReturnView] = ()
    can_be_returned: bool = False
    last_return_day: date | None = None
    invoices: Sequence[InvoiceLink] = ()

    @cached_property
    def links(self) -> OrderLinks:
        """The paths of the order's pages for its buyer."""
        return make_links(self.order)

    @property
    def is_too_late_to_return(self) -> bool:
        """Whether the books were sent, and cannot be returned any more."""
        return self.last_return_day is not None and self.last_return_day < timezone.localdate(self.moment)

    @property
    def vat(self) -> dict[str, int] | None:
        """The included VAT in cents by rate in words, empty for an export, or None if the shop charged none."""
        order = self.order
        if order.vat is None or order.delivery_vat_rate is None or order.delivery_vat is None:
            return None
        found = [(line.vat_rate, line.vat) for line in self.lines if line.vat_rate is not None and line.vat is not None]
        return sum_by_rate([*found, (order.delivery_vat_rate, order.delivery_vat)], order.country)

    @property
    def arrival(self) -> str:
        """The promised days of arrival in words, or "" for an order that is not on its way."""
        return self._describe_arrival(timezone.localdate(self.moment))

    @property
    def dated_arrival(self) -> str:
        """The arrival with its dates, for emails, which are also read later."""
        return self._describe_arrival(None)

    def _describe_arrival(self, today: date | None) -> str:
        if self.order.state not in (OrderState.PAID, OrderState.SENT, OrderState.RESERVED):
            return ""
        return describe_arrival(self.order.arrives_from, self.order.arrives_by, today)

    @property
    def tracking(self) -> Tracking:
        """The parcel. Empty if the shop named none."""
        return Tracking(self.order.carrier, self.order.tracking_number)

    @property
    def is_on_its_way(self) -> bool:
        """Whether the parcel can be tracked and was sent a short time ago."""
        sent_at = self.order.sent_at
        return bool(self.tracking.link) and sent_at is not None and self.moment - sent_at < TRACKED

    @property
    def status(self) -> str:
        """The state of the order in words, with the payment where this is not as expected: "Sent, refunded"."""
        fulfilment, payment = self.order.get_state_display(), self.order.payment_state
        if payment in EXPECTED_PAYMENTS:
            return capfirst(fulfilment)
        words = str(PAYMENT_STATES[payment])
        if self.order.state == OrderState.RESERVED:
            return capfirst(words)
        return capfirst(gettext("%(state)s, %(payment)s") % {"state": fulfilment, "payment": words})

    @property
    def copies(self) -> int:
        """The number of copies of all books."""
        return sum(line.quantity for line in self.lines)

    @property
    def can_be_cancelled(self) -> bool:
        """Whether the order can still be cancelled, as of the time when it was read."""
        return self.order.state in (OrderState.RESERVED, OrderState.PAID)

    @property
    def is_asking(self) -> bool:
        """Whether the provider has not answered a payment request yet. On its own page, the buyer can go on to pay."""
        has_page = get_provider().page is not None and self.seconds_left > 0
        return not has_page and any(payment.state == PaymentState.STARTED for payment in self.payments)

    @property
    def has_failed(self) -> bool:
        """Whether a payment failed. A guest then has an email with the way back."""
        return any(payment.state == PaymentState.FAILED for payment in self.payments)

    @cached_property
    def seconds_left(self) -> int:
        """The seconds until the reservation ends; 0 if it has ended."""
        if self.order.state != OrderState.RESERVED:
            return 0
        return max(0, int((self.order.reserved_until - self.moment).total_seconds()))

    @property
    def can_be_paid(self) -> bool:
        """Whether the customer can try to pay again."""
        return self.seconds_left > 0 and not self.is_asking

    @property
    def time_left(self) -> str:
        """The remaining time in words, rounded down: "9 minutes"."""
        if self.seconds_left < 60:
            return ngettext("%d second", "%d seconds", self.seconds_left) % self.seconds_left
        return ngettext("%d minute", "%d minutes", self.seconds_left // 60) % (self.seconds_left // 60)

    @property
    def has_unusual_payments(self) -> bool:
        """Whether there is more to tell of the payments than the time of the only one."""
        return len(self.payments) > 1 or any(
            payment.state != PaymentState.SUCCEEDED or payment.refunds.all() for payment in self.payments
        )

    @property
    def steps(self) -> list[Step]:
        """The steps that the order has passed, and those to come, in order."""
        order = self.order
        is_expired = order.state == OrderState.EXPIRED
        times = (
            Step(_("Ordered"), order.created_at),
            Step(_("Not paid in time"), order.reserved_until if is_expired else None),
            Step(_("Paid") if order.total else _("Nothing to pay"), order.paid_at),
            Step(_("Sent"), order.sent_at),
            Step(_("Cancelled"), order.cancelled_at),
        )
        reached = [step for step in times if step.at is not None]
        sent, delivered = _("Sent"), _("Delivered")  # no carrier reports a delivery: a step to come, for some weeks
        to_come = {
            OrderState.RESERVED: (_("Paid"), sent, delivered),
            OrderState.PAID: (sent, delivered),
            OrderState.SENT: () if self.is_too_late_to_return else (delivered,),
        }
        return [*reached, *(Step(words, None) for words in to_come.get(OrderState(order.state), ()))]

    def as_summary_json(self) -> dict[str, Any]:
        """Return the JSON of an order in a list, with money in cents and times in ISO 8601."""
        order = self.order
        return {
            "id": order.pk,
            "state": order.state,
            "fulfilment": order.fulfilment,
            "payment": order.payment_state,
            "total": order.total,
            "created_at": order.created_at,
            "lines": [
                {"product": line.product_id, "title": line.title, "quantity": line.quantity, "price": line.price}
                for line in self.lines
            ],
        }

    def as_json(self) -> dict[str, Any]:
        """Return the complete JSON of an order."""
        order = self.order
        return self.as_summary_json() | {
            "name": order.name,
            "email": order.email,
            "address": order.address,
            "country": order.country or None,
            "address_parts": order.address_parts,
            "phone": order.phone,
            "delivery": {
                "name": order.delivery_name,
                "price": order.delivery_price,
                "arrives_from": order.arrives_from,
                "arrives_by": order.arrives_by,
            },
            "tracking": {**self.tracking._asdict(), "link": self.tracking.link},
            "vat": self.vat,
            "reserved_until": order.reserved_until if order.state == OrderState.RESERVED else None,
            "paid_at": order.paid_at,
            "sent_at": order.sent_at,
            "cancelled_at": order.cancelled_at,
            "can_be_cancelled": self.can_be_cancelled,
            "payments": [
                {
                    "state": payment.status,
                    "amount": payment.amount,
                    "refunded": payment.refunded,
                    "refund_due": payment.refund_due,
                    "reason": payment.reason,
                    "at": payment.updated_at,
                }
                for payment in self.payments
            ],
        }


class OrderPage(NamedTuple):
    """A page of orders, newest first. after: the cursor of the next page, or None on the last page."""

    orders: list[OrderView]
    after: int | None


def list_orders(user_id: int, after: int | None = None) -> OrderPage:
    """Return a page of a user's orders that are older than order ``after``. Two queries, for any number of orders."""
    found = annotate_states(Order.objects.of_user(user_id)).prefetch_related(
        # With the books, for their present covers.
        Prefetch("lines", OrderLine.objects.select_related("product__book"))
    )
    if after is not None:
        found = found.filter(pk__lt=after)
    rows, now = list(found[: ORDERS_PER_PAGE + 1]), clock.now()
    shown = [OrderView(order, _sort_lines(order), (), now) for order in rows[:ORDERS_PER_PAGE]]
    return OrderPage(shown, shown[-1].order.pk if len(rows) > ORDERS_PER_PAGE else None)


def get_order(user_id: int, order_id: int) -> OrderView | None:
    """Return one of a user's orders, or None if the user has no such order. Nine queries at most."""
    if not 0 < order_id <= MAX_ID:
        return None
    # With the user, whose verified address gets the emails.
    order = annotate_states(Order.objects.of_user(user_id).select_related("user")).filter(pk=order_id).first()
    return None if order is None else _make_view(order)


def get_guest_order(order_id: int, token: str) -> OrderView | None:
    """Return the order of a guest's link, or None if the link is wrong or has ended. Nine queries at most."""
    if not 0 < order_id <= MAX_ID:
        return None
    order = annotate_states(Order.objects.filter(pk=order_id, user=None)).first()
    if order is None or not order.is_of_guest or not is_token(order, token):
        return None
    return _make_view(order)


def is_claimed_order(order_id: int, token: str) -> bool:
    """Return whether a guest's link is right and a reader has claimed its order. One query."""
    if not 0 < order_id <= MAX_ID:
        return False
    # Guests order as nobody, so orders of readers from the start have no valid links.
    claimed = Order.objects.filter(user__isnull=False, events__kind=EventKind.ORDERED, events__by=None)
    order = claimed.filter(pk=order_id).first()
    return order is not None and is_token(order, token)


def _make_view(order: Order) -> OrderView:
    # With the books, for their present covers and authors.
    books = annotate_refunds(order.lines.select_related("product__book")).prefetch_related("product__book__authors")
    lines = list(books.order_by("pk"))
    payments = list(order.payments.order_by("pk").prefetch_related("refunds"))
    view = OrderView(order, lines, payments, clock.now(), invoices=list_invoices(order))
    # Only an order that was sent has returns.
    if order.state != OrderState.SENT:
        return view
    with_slip = (ReturnState.ACCEPTED, ReturnState.RECEIVED)
    view.returns = [
        ReturnView(found, make_slip_path(order, found.pk) if found.state in with_slip else "")
        for found in order.returns.order_by("pk")
    ]
    view.last_return_day = get_last_day(order)
    view.can_be_returned = is_returnable(order) and bool(list_returnable_lines(order))
    return view


def _sort_lines(order: Order) -> list[OrderLine]:
    """Return the prefetched lines of an order, sorted by id."""
    return sorted(order.lines.all(), key=lambda line: line.pk)
