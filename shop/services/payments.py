"""Receive payments, once per order, in any order of the provider's answers.

A payment is committed before the provider is called, so that each charge is known here. Answers arrive from the page
that called, from a callback or from ``shop.services.settle``. ``record`` treats them alike, and the first one changes
the order.
"""

import logging
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_noop

from common import clock
from common.database import repeat_after_conflict
from mirror.utils import after_commit
from shop import emails
from shop.invoices.services import issue_invoice
from shop.models import EventKind, Order, OrderState, Payment, PaymentState
from shop.payments import Answer, Means, NoAnswer, Outcome, PageRequest, TypedCard, calls, make_key
from shop.services import confirmations, refunds, stock
from shop.services.errors import NotPayable, TooManyPayments
from shop.services.order_steps import lock_order, record_step

logger = logging.getLogger("shop")
TIMEOUT_SLACK_SECONDS: Final = 1.0  # after the time-out of a call, before another process asks for the outcome
ATTEMPTS_PERIOD_SECONDS: Final = 600
GIVEN_UP_REASON: Final = gettext_noop("the provider did not answer in time, and nothing was charged")
# The reason of a refund, by the state of the order when the money arrived.
REFUND_REASONS: Final = {
    OrderState.PAID: gettext_noop("the order was already paid"),
    OrderState.SENT: gettext_noop("the order was already paid"),
    OrderState.CANCELLED: gettext_noop("the order was cancelled"),
    OrderState.EXPIRED: gettext_noop("the payment came too late, and not enough copies were left"),
}


def pay_order(order: Order, card: TypedCard) -> Order:
    """Try to pay an order. Return the order: paid, or still reserved with the reason in its last payment.

    No new attempt is made while an earlier one may still succeed or while the provider does not answer. Raises
    NotPayable and TooManyPayments.
    """
    if _resolve_earlier_payment(order) and (payment := _begin_payment(order.pk)):
        _charge(payment, card)
    return Order.objects.get(pk=order.pk)


def open_payment_page(order: Order, request: PageRequest) -> str:
    """Return the address of the provider's page that takes the payment of an order, or "" if there is none now.

    An attempt that is open goes on, in each tab on the same page, which takes the money once. Raises NotPayable and
    TooManyPayments.
    """
    if not _resolve_earlier_payment(order):
        return ""
    earlier = find_open_payment(order)
    # After the time to pay this page is not opened any more: the money would be too late.
    if earlier is not None and _is_payable(order.pk):
        return refresh_payment(earlier)
    payment = _begin_payment(order.pk)
    return _charge(payment, request) if payment else ""


def _charge(payment: Payment, means: Means) -> str:
    """Ask the provider for a payment, and record the answer. Return the address of its page, if it has one."""
    try:
        # No transaction is open here, so a provider that hangs holds no lock. The payment is committed, so an answer
        # that arrives after a crash is recognised.
        answer = calls.charge(payment.key, payment.amount, means)
    except NoAnswer:
        # The card may have been charged. ``settle`` asks for the outcome, and no other attempt begins until it is
        # known.
        logger.warning("Payment %s: the provider has not answered yet", payment.pk)
        return ""
    record_answer(payment.key, answer)
    return answer.page


def find_open_payment(order: Order) -> Payment | None:
    """Return the payment of an order without an outcome, or None."""
    return Payment.objects.filter(order=order, state=PaymentState.STARTED).first()


def ask_soon(order: Order) -> None:
    """Let ``settle`` ask about an open payment of an order that ends, so that its page closes. Call it in the order's
    transaction.
    """
    Payment.objects.filter(order=order, state=PaymentState.STARTED).update(ask_at=clock.now())


def refresh_payment(payment: Payment) -> str:
    """Ask for the outcome of a payment and record it. Return the address of the page where it can still be made."""
    try:
        answer = calls.find_charge(payment.key)
    except NoAnswer:
        return ""
    if answer is None:
        # Its request may still be on the way, so only ``settle`` forbids it, later.
        return ""
    record_answer(payment.key, answer)
    return answer.page


def _resolve_earlier_payment(order: Order) -> bool:
    """Resolve an earlier attempt without an answer. Return False if the provider does not answer."""
    earlier = find_open_payment(order)
    return earlier is None or earlier.ask_at > clock.now() or resolve_payment(earlier)


def resolve_payment(payment: Payment) -> bool:
    """Ask the provider for the outcome of an abandoned charge. An unknown charge is forbidden for the future, and so is
    one that can still be made after the time to pay.

    Return False if the provider does not answer.
    """
    try:
        answer = calls.find_charge(payment.key)
        if answer is None or (answer.outcome is Outcome.PENDING and not _is_payable(payment.order_id)):
            # The request of the charge may still be on its way to the provider. Only a forbidden charge is final.
            answer = calls.forbid_charge(payment.key)._replace(reason=GIVEN_UP_REASON)
    except NoAnswer:
        return False
    record_answer(payment.key, answer)
    return True


def _is_payable(order_id: int) -> bool:
    return Order.objects.filter(pk=order_id, state=OrderState.RESERVED, reserved_until__gt=clock.now()).exists()


@repeat_after_conflict
def _begin_payment(order_id: int) -> Payment | None:
    """Create and commit a payment. Return None if the order is paid or has an open payment."""
    now = clock.now()
    with transaction.atomic():
        order = lock_order(order_id)
        if order.state == OrderState.PAID:
            return None
        if order.state != OrderState.RESERVED or order.reserved_until <= now:
            raise NotPayable
        # The open payment may still succeed, and a second one would charge the card twice.
        if Payment.objects.filter(order=order, state=PaymentState.STARTED).exists():
            return None
        _check_attempts(order, now)
        # A key for each attempt, because the provider charges once per key, and the next card must be a new charge.
        key = make_key(now)
        ask_at = now + timedelta(seconds=settings.PAYMENT_TIMEOUT_SECONDS + TIMEOUT_SLACK_SECONDS)
        payment = Payment.objects.create(order=order, key=key, amount=order.total, created_at=now, ask_at=ask_at)
        record_step(order.pk, EventKind.ASKED, payment=payment)
    return payment


def _check_attempts(order: Order, now: datetime) -> None:
    """Limit failed and open attempts per user, so that nobody can test stolen card numbers. Successful payments do not
    count.
    """
    since = now - timedelta(seconds=ATTEMPTS_PERIOD_SECONDS)
    # A guest has this order alone; the page limits the attempts of an address with all its orders.
    own = Q(order=order) if order.user_id is None else Q(order__user=order.user_id)
    tries = Payment.objects.filter(own, created_at__gt=since)
    # Under the lock of this order alone: orders paid at the same moment may exceed the limit by one each.
    if tries.filter(state__in=(PaymentState.STARTED, PaymentState.FAILED)).count() >= settings.SHOP_PAYMENT_TRIES:
        raise TooManyPayments


@repeat_after_conflict
def record_answer(key: str, answer: Answer) -> None:
    """Record the provider's answer about a charge. Safe to repeat, from any process and in any order."""
    if answer.outcome is Outcome.PENDING:
        Payment.objects.filter(key=key).update(updated_at=clock.now())
        return
    with transaction.atomic():
        # Everywhere the order is locked before its payments, so its id is read without a lock.
        order_id = Payment.objects.filter(key=key).values_list("order_id", flat=True).first()
        if order_id is None:
            logger.error("The provider speaks of a payment that is not known here")
            return
        order = lock_order(order_id)
        # Read after the lock, to see the changes of its previous holder.
        payment = Payment.objects.get(key=key)
        # A charge that was reported as failed may succeed after all, and its money must lead to a sale or a refund. A
        # failure after a success is ignored.
        if answer.outcome is Outcome.SUCCEEDED and payment.state in (PaymentState.STARTED, PaymentState.FAILED):
            _record_success(order, payment, answer)
        elif answer.outcome is Outcome.FAILED and payment.state == PaymentState.STARTED:
            _tell_guest(order)
            _set_state(payment, PaymentState.FAILED, reason=_clean_text(answer.reason, 200))
            record_step(order_id, EventKind.REFUSED, payment=payment, why=_clean_text(answer.reason, 200))


def _tell_guest(order: Order) -> None:
    """Email a guest the way back after the first failed payment: the cart is empty, and only the page has the link."""
    is_open = order.state in (OrderState.RESERVED, OrderState.EXPIRED)
    if order.is_of_guest and is_open and not order.payments.filter(state=PaymentState.FAILED).exists():
        emails.send_email_soon("link", order.pk)


def _clean_text(text: str, most: int) -> str:
    """Return the provider's text without NUL characters, which SQL cannot store, and cut to a length."""
    return text.replace("\0", "")[:most]


def _record_success(order: Order, payment: Payment, answer: Answer) -> None:
    kind = _sell_copies(order)
    state = PaymentState.SURPLUS if kind is None else PaymentState.SUCCEEDED
    _set_state(payment, state, reference=_clean_text(answer.reference, 100), reason="")
    if kind is None:
        refunds.add_refund(payment, payment.amount, why=REFUND_REASONS[OrderState(order.state)])
    else:
        _mark_paid(order, kind, payment)


def _mark_paid(order: Order, kind: EventKind, payment: Payment | None = None) -> None:
    order.state, order.paid_at = OrderState.PAID, clock.now()
    Order.objects.filter(pk=order.pk).update(state=order.state, paid_at=order.paid_at)
    record_step(order.pk, kind, payment=payment)
    if order.total:  # there is nothing to invoice in a free order
        issue_invoice(order)
    # Before the commit a worker would find an unpaid order, and send nothing.
    after_commit(confirmations.confirm_soon, order.pk)


def sell_free_order(order: Order) -> None:
    """Sell an order that costs nothing, without the provider. Call it in the transaction that creates the order."""
    stock.sell_reserved_copies(stock.get_order_quantities(order.pk))
    _mark_paid(order, EventKind.FREE)


def _sell_copies(order: Order) -> EventKind | None:
    """Sell the copies of an order. Return None if they are not available or were sold before."""
    lines = stock.get_order_quantities(order.pk)
    if order.state == OrderState.RESERVED:
        stock.sell_reserved_copies(lines)
        return EventKind.PAID
    if order.state == OrderState.EXPIRED and stock.sell_unreserved_copies(lines):
        return EventKind.PAID_LATE
    return None


def _set_state(payment: Payment, state: PaymentState, **values: str) -> None:
    now = clock.now()
    Payment.objects.filter(pk=payment.pk).update(state=state, updated_at=now, ask_at=now, **values)
