"""Refund payments, in whole or in part, each refund once.

A refund is committed as due before the provider is called, as payments are. ``shop.services.settle`` calls the provider
until it has confirmed the refund. The sums in the payment change with each refund, under the lock of the order, and a
constraint of SQL bounds them by the charge.
"""

import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from accounts.models import User
from common import clock
from common.database import repeat_after_conflict
from shop import emails
from shop.delivery.vat import TaxLeft, share_out, split_vat
from shop.invoices.services import issue_credit_note
from shop.models import (
    EventKind,
    Order,
    OrderLine,
    OrderState,
    Payment,
    PaymentState,
    Refund,
    RefundLine,
    RefundState,
)
from shop.payments import NoAnswer, calls
from shop.services import stock
from shop.services.errors import (
    NothingToRefund,
    NotRefundable,
    NotSent,
    OrderNotFound,
    RefundedMeanwhile,
    RefundTooLarge,
)
from shop.services.order_steps import lock_order, record_step

# Why the payment of an order in a state is not refunded by staff.
_NOT_REFUNDABLE: Final = {
    OrderState.RESERVED: _("it is not paid yet"),
    OrderState.EXPIRED: _("it was not paid in time"),
    OrderState.CANCELLED: _("it was cancelled, which refunds what was paid"),
}
REFUNDED_BY_STAFF: Final = gettext_noop("the shop refunded the order")


class RefundPart(NamedTuple):
    """What a refund takes from a line of the order, or from its delivery (None). quantity: 0 for a lower price."""

    line: OrderLine | None
    quantity: int
    amount: int


class RefundablePart(NamedTuple):
    """What is left of a line of an order, or of its delivery, for refunds.

    amount, vat: in cents, without earlier refunds. quantity: copies without returned ones. rate: None without VAT.
    """

    line: OrderLine | None
    amount: int
    quantity: int
    rate: Decimal | None
    vat: int

    def take_copies(self, quantity: int) -> RefundPart:
        """Return the part for so many copies: their share of what is left, so that a lower price counts."""
        return RefundPart(self.line, quantity, self.amount * quantity // self.quantity)

    def take_amount(self, amount: int) -> RefundPart:
        """Return the part for a lower price, or for delivery."""
        return RefundPart(self.line, 0, amount)


def load_refundable_parts(order: Order) -> list[RefundablePart]:
    """Return what is left of each line of an order, and of its delivery at the end. Two queries."""
    refunded: dict[int | None, list[RefundLine]] = defaultdict(list)
    for part in RefundLine.objects.filter(refund__payment__order=order):
        refunded[part.line_id].append(part)
    parts = [
        _subtract(RefundablePart(line, line.total, line.quantity, line.vat_rate, line.vat or 0), refunded[line.pk])
        for line in order.lines.order_by("pk")
    ]
    if order.delivery_price:
        delivery = RefundablePart(None, order.delivery_price, 0, order.delivery_vat_rate, order.delivery_vat or 0)
        parts.append(_subtract(delivery, refunded[None]))
    return parts


def _subtract(part: RefundablePart, refunded: Sequence[RefundLine]) -> RefundablePart:
    """Return what earlier refunds have left of a part."""
    return part._replace(
        amount=part.amount - sum(each.amount for each in refunded),
        quantity=part.quantity - sum(each.quantity for each in refunded),
        vat=part.vat - sum(each.vat or 0 for each in refunded),
    )


@repeat_after_conflict
def refund_order(
    order_id: int,
    by: User | None = None,
    *,
    amount: int | None = None,
    quantities: Mapping[int, int] | None = None,
    with_delivery: bool = False,
    reason: str = REFUNDED_BY_STAFF,
    shown_left: int | None = None,
    shown_copies: int | None = None,
) -> Refund:
    """Refund an order that was paid, and tell the buyer: an amount, copies, or all that is left.

    amount: in cents, as a lower price of all lines. quantities: copies by id of the order's line; with_delivery: what
    is left of the price of delivery as well. Neither: everything, only for an order that was sent; an order that was
    not sent is cancelled instead. Its copies return to the stock and are not sent; those of an order that was sent do
    not return. shown_left, shown_copies: the cents that were left, and the copies that were to be sent, when the form
    was shown. Raises OrderNotFound, NotRefundable (no payment, or nothing left), RefundedMeanwhile, NotSent (also
    without a copy to send), RefundTooLarge and NothingToRefund (an amount of 0, or no copies).
    """
    with transaction.atomic():
        try:
            order = lock_order(order_id)
        except Order.DoesNotExist:
            raise OrderNotFound from None
        if shown_left is not None and _find_refundable_payment(order).left != shown_left:
            raise RefundedMeanwhile
        # A parcel has the copies that staff meant to keep.
        if shown_copies not in (None, stock.count_copies_to_send(order)):
            raise RefundedMeanwhile
        refund = add_order_refund(
            order, by, amount=amount, quantities=quantities, with_delivery=with_delivery, reason=reason
        )
        emails.send_email_soon("refunded", order_id)
    return refund


def add_order_refund(
    order: Order,
    by: User | None,
    *,
    amount: int | None = None,
    quantities: Mapping[int, int] | None = None,
    with_delivery: bool = False,
    reason: str,
) -> Refund:
    """Refund an order as ``refund_order`` does, in the transaction that locked the order, and without an email."""
    payment = _find_refundable_payment(order)
    parts = load_refundable_parts(order)
    if quantities is not None:
        taken = _take_copies(parts, quantities, with_delivery=with_delivery)
        amount = sum(part.amount for part in taken)
    elif amount is not None:
        taken = _take_amount(parts, amount)
    else:
        taken, amount = _take_all(parts), payment.left
    if amount <= 0:
        raise NothingToRefund
    if amount > payment.left:
        raise RefundTooLarge(payment.left)
    lines = _add_vat(parts, taken)
    if order.state != OrderState.SENT:
        # A refunded order would still be sent. Cancelling it returns its copies to the stock as well.
        if amount == payment.left or _count_copies(parts) == _count_copies(taken):
            raise NotSent
        _return_unsent_copies(lines)
    return add_refund(payment, amount, lines, by=by, why=reason)


def _count_copies(parts: Iterable[RefundablePart | RefundPart]) -> int:
    return sum(part.quantity for part in parts)


def _return_unsent_copies(lines: Iterable[RefundLine]) -> None:
    """Return the copies of a new refund to the stock. All transactions lock products before the counter of invoices."""
    copies = {}
    for part in lines:
        if part.line is not None and part.quantity:
            part.is_unsent, copies[part.line.product_id] = True, part.quantity
    stock.restock_copies(copies)


def _find_refundable_payment(order: Order) -> Payment:
    if why := _NOT_REFUNDABLE.get(OrderState(order.state)):
        raise NotRefundable(why)
    payment = Payment.objects.filter(order=order, state=PaymentState.SUCCEEDED).first()
    if payment is None:
        raise NotRefundable
    if payment.left == 0:
        raise NotRefundable(_("its payment is refunded already"))
    return payment


def _take_copies(
    parts: Iterable[RefundablePart], quantities: Mapping[int, int], *, with_delivery: bool
) -> list[RefundPart]:
    """Return the parts for copies by line. Raises RefundTooLarge for more copies than are left of a line."""
    taken, wanted = [], {pk: count for pk, count in quantities.items() if count}
    for part in parts:
        if part.line is None:
            if with_delivery and part.amount:
                taken.append(part.take_amount(part.amount))
        elif count := wanted.pop(part.line.pk, 0):
            if not 0 < count <= part.quantity:
                raise RefundTooLarge(part.amount)
            taken.append(part.take_copies(count))
    if wanted:  # lines of another order
        raise OrderNotFound
    return taken


def _take_amount(parts: Iterable[RefundablePart], amount: int) -> list[RefundPart]:
    """Return the parts for an amount, which all lines bear by what is left of them."""
    bearing = [part for part in parts if part.amount]
    left = [part.amount for part in bearing]
    if amount > sum(left):
        return []
    shares = zip(bearing, share_out(amount, left), strict=True)
    return [part.take_amount(share) for part, share in shares if share]


def _take_all(parts: Iterable[RefundablePart]) -> list[RefundPart]:
    left = [part for part in parts if part.amount or part.quantity]
    return [part.take_copies(part.quantity) if part.quantity else part.take_amount(part.amount) for part in left]


def _add_vat(parts: Sequence[RefundablePart], taken: Sequence[RefundPart]) -> list[RefundLine]:
    """Return the lines of a refund, whose VAT is computed once for each rate. parts: what is left of the order."""
    rates = {part.line: part.rate for part in parts}
    left: dict[Decimal, TaxLeft] = {}
    for part in parts:
        if part.rate is not None:
            before = left.get(part.rate, TaxLeft(part.rate, 0, 0))
            left[part.rate] = TaxLeft(part.rate, before.amount + part.amount, before.vat + part.vat)
    lines = [RefundLine(line=part.line, quantity=part.quantity, amount=part.amount) for part in taken]
    taxed = [(line, rate) for line in lines if (rate := rates[line.line]) is not None]
    amounts = [(line.amount, rate) for line, rate in taxed]
    vat = split_vat(amounts, lambda amount, rate: left[rate].compute_refunded(amount))
    for (line, _rate), cents in zip(taxed, vat, strict=True):
        line.vat = cents
    return lines


def refund_rest(order: Order, why: str, *, by: User | None = None) -> None:
    """Refund what is left of an order's payment, if any. Call it in the transaction that locked the order."""
    payment = Payment.objects.filter(order=order, state=PaymentState.SUCCEEDED).first()
    if payment is not None and payment.left:
        parts = load_refundable_parts(order)
        add_refund(payment, payment.left, _add_vat(parts, _take_all(parts)), by=by, why=why)


def add_refund(
    payment: Payment, amount: int, lines: Sequence[RefundLine] = (), *, by: User | None = None, why: str
) -> Refund:
    """Add a refund that is due. Call it in the transaction that locked the order. Raises RefundTooLarge."""
    now = clock.now()
    # Without the condition, a refund above the charge would be an error of the constraint.
    room = Payment.objects.filter(pk=payment.pk, amount__gte=F("refund_due") + F("refunded") + amount)
    if not room.update(refund_due=F("refund_due") + amount, updated_at=now):
        raise RefundTooLarge(payment.left)
    # Only added here: the provider must not be called in a transaction, and ``settle`` repeats the call until it
    # succeeds.
    refund = Refund.objects.create(
        payment=payment,
        key=secrets.token_hex(32),
        amount=amount,
        reason=why[:200],
        by=by,
        created_at=now,
        ask_at=now,
    )
    for line in lines:
        line.refund = refund
    RefundLine.objects.bulk_create(lines)
    record_step(payment.order_id, EventKind.REFUND_DUE, payment=payment, by=by, why=why)
    # Money that bought nothing has no invoice to correct.
    if payment.state == PaymentState.SUCCEEDED:
        issue_credit_note(payment.order, refund)
    return refund


def make_refund(refund: Refund) -> bool:
    """Let the provider make a refund, which it does once per key. Return False if the provider does not answer."""
    try:
        calls.refund(refund.payment.key, refund.key, refund.amount)
    except NoAnswer:
        return False
    _mark_done(refund, clock.now())
    return True


@repeat_after_conflict
def _mark_done(refund: Refund, now: datetime) -> None:
    with transaction.atomic():
        # Everywhere the order is locked before its payments.
        lock_order(refund.payment.order_id)
        due = Refund.objects.filter(pk=refund.pk, state=RefundState.DUE)
        # Two processes may have called the provider, which refunds once per key. The sums change once as well.
        if due.update(state=RefundState.DONE, done_at=now):
            Payment.objects.filter(pk=refund.payment_id).update(
                refund_due=F("refund_due") - refund.amount, refunded=F("refunded") + refund.amount, updated_at=now
            )
            record_step(refund.payment.order_id, EventKind.REFUNDED, payment=refund.payment)
