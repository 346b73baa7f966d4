"""Issue the documents of orders that were paid, and of refunds that were added, before there were invoices."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from common.database import repeat_after_conflict, split_slices
from shop.invoices.models import Invoice, InvoiceKind
from shop.invoices.services import get_first_kept_year, issue_credit_note, issue_invoice
from shop.models import Order, PaymentState, Refund

# In a transaction, which holds the counter: payments wait for its end.
BATCH_SIZE: Final = 50


def find_orders() -> QuerySet[Order]:
    """Return the paid orders without an invoice, in the order of their payments.

    Orders of years before that have none: their invoices were removed.
    """
    invoices = Invoice.objects.filter(order=OuterRef("pk"), kind=InvoiceKind.INVOICE)
    start = datetime(get_first_kept_year(), 1, 1, tzinfo=timezone.get_default_timezone())
    return Order.objects.filter(~Exists(invoices), paid_at__gte=start, total__gt=0).order_by("paid_at", "pk")


def find_refunds() -> QuerySet[Refund]:
    """Return the refunds without a credit note of orders that have an invoice, or will have one, the oldest first."""
    notes = Invoice.objects.filter(refund=OuterRef("pk"))
    invoices = Invoice.objects.filter(order=OuterRef("payment__order"), kind=InvoiceKind.INVOICE)
    paid = Refund.objects.filter(~Exists(notes), payment__state=PaymentState.SUCCEEDED)
    found = paid.filter(Exists(invoices)) | paid.filter(payment__order__in=find_orders().order_by())
    return found.order_by("created_at", "pk")


def issue_missing_invoices(progress: Callable[[int], None] = lambda count: None) -> int:
    """Issue the invoices of ``find_orders`` with the next numbers, and return their number. It may be repeated."""
    total = 0
    for ids in split_slices(list(find_orders().values_list("pk", flat=True)), BATCH_SIZE):
        total += _issue_invoices(ids)
        progress(len(ids))
    return total


def issue_missing_credit_notes(progress: Callable[[int], None] = lambda count: None) -> int:
    """Issue the credit notes of ``find_refunds``, after their invoices, and return their number. It may be repeated."""
    total = 0
    for ids in split_slices(list(find_refunds().values_list("pk", flat=True)), BATCH_SIZE):
        total += _issue_credit_notes(ids)
        progress(len(ids))
    return total


@repeat_after_conflict
def _issue_invoices(ids: Sequence[int]) -> int:
    with transaction.atomic():
        orders = _lock_orders(ids)
        # Another process may have issued them before this one had the locks.
        done = set(Invoice.objects.filter(order__in=ids, kind=InvoiceKind.INVOICE).values_list("order_id", flat=True))
        missing = [orders[pk] for pk in ids if pk in orders and pk not in done]
        for order in missing:
            issue_invoice(order)
    return len(missing)


@repeat_after_conflict
def _issue_credit_notes(ids: Sequence[int]) -> int:
    with transaction.atomic():
        refunds = Refund.objects.select_related("payment").in_bulk(ids)
        orders = _lock_orders([refund.payment.order_id for refund in refunds.values()])
        done = set(Invoice.objects.filter(refund__in=ids).values_list("refund_id", flat=True))
        missing = [refunds[pk] for pk in ids if pk in refunds and pk not in done]
        for refund in missing:
            issue_credit_note(orders[refund.payment.order_id], refund)
    return len(missing)


def _lock_orders(ids: Sequence[int]) -> dict[int, Order]:
    """Lock orders in the order of their ids, before the counter, as all transactions do."""
    rows = Order.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
    return {order.pk: order for order in rows}
