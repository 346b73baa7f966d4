"""Ask for returns, and accept, refuse and receive them. Each takes effect once, under the lock of the order."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from django.db import transaction
from django.utils.translation import gettext_noop

from accounts.models import User
from common import clock
from common.database import repeat_after_conflict
from shop import emails
from shop.models import EventKind, Order, Refund, Return, ReturnLine, ReturnState
from shop.returns.rules import is_returnable, list_returnable_lines
from shop.services import stock
from shop.services.errors import (
    NoBooksChosen,
    NothingToRefund,
    NotRefundable,
    NotReturnable,
    OrderNotFound,
    RefusalNeedsAnswer,
    ReturnedMeanwhile,
    ReturnStateRefused,
)
from shop.services.order_steps import lock_order, record_step
from shop.services.refunds import add_order_refund, load_refundable_parts

RETURNED: Final = gettext_noop("returned books")


class WantedReturn(NamedTuple):
    """What a buyer sends back of one line."""

    quantity: int
    reason: str = ""


@repeat_after_conflict
def ask_for_return(
    order_id: int,
    wanted: Mapping[int, WantedReturn],
    note: str = "",
    *,
    by: User | None = None,
    shown_left: int | None = None,
) -> Return:
    """Ask for a return for the buyer, whose right to the order was checked. wanted: by id of the order's line.

    shown_left: the copies that could be returned when the form was shown. Raises OrderNotFound, ReturnedMeanwhile,
    NotReturnable (not sent, too late, or more copies than are left) and NoBooksChosen.
    """
    with transaction.atomic():
        order = _lock(order_id)
        chosen = {pk: each for pk, each in wanted.items() if each.quantity}
        if not chosen:
            raise NoBooksChosen
        left = {each.line.pk: each.quantity for each in list_returnable_lines(order)}
        if shown_left is not None and sum(left.values()) != shown_left:
            raise ReturnedMeanwhile
        if not is_returnable(order) or any(not 0 < each.quantity <= left.get(pk, 0) for pk, each in chosen.items()):
            raise NotReturnable
        made = Return.objects.create(order=order, note=note[:500], created_at=clock.now())
        ReturnLine.objects.bulk_create(
            ReturnLine(order_return=made, line_id=pk, quantity=each.quantity, reason=each.reason)
            for pk, each in sorted(chosen.items())
        )
        record_step(order_id, EventKind.RETURN_ASKED, by=by, why=made.number)
    return made


@repeat_after_conflict
def accept_return(return_id: int, by: User | None = None) -> Return:
    """Accept a return, and send the buyer the link to its slip. Raises ReturnStateRefused."""
    with transaction.atomic():
        found = _lock_return(return_id, ReturnState.ASKED)
        _decide(found, ReturnState.ACCEPTED, EventKind.RETURN_ACCEPTED, by)
        emails.send_email_soon("return_accepted", found.order_id)
    return found


@repeat_after_conflict
def refuse_return(return_id: int, by: User | None = None, answer: str = "") -> Return:
    """Refuse a return with an answer, which the buyer gets. "": with the answer that is stored already.

    Raises ReturnStateRefused and RefusalNeedsAnswer.
    """
    with transaction.atomic():
        found = _lock_return(return_id, ReturnState.ASKED, ReturnState.ACCEPTED)
        found.answer = answer or found.answer
        if not found.answer.strip():
            raise RefusalNeedsAnswer
        _decide(found, ReturnState.REFUSED, EventKind.RETURN_REFUSED, by)
        emails.send_email_soon("return_refused", found.order_id)
    return found


@repeat_after_conflict
def receive_return(return_id: int, by: User | None = None, *, restock: bool) -> Return:
    """Receive the books of a return: refund them, and put the copies back into stock if they can be sold.

    Delivery is refunded with the last copies of the order. Raises ReturnStateRefused.
    """
    with transaction.atomic():
        found = _lock_return(return_id, ReturnState.ACCEPTED)
        # Before the refund: all transactions lock products before the counter of credit notes.
        if restock:
            stock.restock_copies(dict(found.lines.values_list("line__product", "quantity")))
        found.refund = _refund(found, by)
        found.state, found.received_at, found.is_restocked = ReturnState.RECEIVED, clock.now(), restock
        found.save(update_fields=["refund", "state", "received_at", "is_restocked"])
        record_step(found.order_id, EventKind.RETURN_RECEIVED, by=by, why=found.number)
        if found.refund is not None:
            emails.send_email_soon("refunded", found.order_id)
    return found


def _refund(found: Return, by: User | None) -> Refund | None:
    """Add the refund of a return. Return None if nothing is left, as after a refund of the whole order."""
    quantities = dict(found.lines.values_list("line", "quantity"))
    parts = load_refundable_parts(found.order)
    left = {part.line.pk: part.quantity for part in parts if part.line is not None}
    # Staff may have refunded some of the copies since the buyer asked.
    quantities = {pk: min(count, left[pk]) for pk, count in quantities.items()}
    is_last = sum(quantities.values()) == sum(left.values())
    try:
        return add_order_refund(found.order, by, quantities=quantities, with_delivery=is_last, reason=RETURNED)
    except (NotRefundable, NothingToRefund):
        return None


def _lock(order_id: int) -> Order:
    try:
        return lock_order(order_id)
    except Order.DoesNotExist:
        raise OrderNotFound from None


def _lock_return(return_id: int, *states: ReturnState) -> Return:
    """Lock the order of a return, and return the return. Raises ReturnStateRefused in other states than these."""
    order_id = Return.objects.filter(pk=return_id).values_list("order", flat=True).first()
    if order_id is None:
        raise OrderNotFound
    order = _lock(order_id)
    # Read after the lock, to see the changes of its previous holder.
    found = Return.objects.get(pk=return_id)
    found.order = order
    if found.state not in states:
        raise ReturnStateRefused(found.state)
    return found


def _decide(found: Return, state: ReturnState, kind: EventKind, by: User | None) -> None:
    found.state, found.decided_at = state, clock.now()
    found.save(update_fields=["state", "decided_at", "answer"])
    record_step(found.order_id, kind, by=by, why=found.number)
