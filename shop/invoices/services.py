"""Issue invoices and credit notes, and remove them when the law does not require them any more.

The number is taken in the transaction that pays the order or adds the refund. The counter of the series is locked until
that transaction ends: if it is rolled back, or its process dies, the number is free again, and no other transaction has
the next one yet. So numbers have no gaps. All other rows are locked before the counter.
"""

from typing import Any, Final

from django.conf import settings
from django.db import connection

from common import clock
from common.database import SLICE_SIZE
from mirror.relay import Deadline
from shop.delivery.days import get_shop_day
from shop.invoices.content import (
    Item,
    describe_payment,
    list_order_items,
    list_refund_items,
    make_content,
    sum_vat,
)
from shop.invoices.models import Invoice, InvoiceKind
from shop.models import Order, Refund

# One statement, so that the first two documents of a year need no special case: the later one waits, and adds one.
_TAKE: Final = """
    INSERT INTO invoices_invoicecounter (kind, year, last) VALUES (%s, %s, 1)
    ON CONFLICT (kind, year) DO UPDATE SET last = invoices_invoicecounter.last + 1
    RETURNING last
"""


def issue_invoice(order: Order) -> None:
    """Issue the invoice of an order. Call it at the end of the transaction that marks the order as paid."""
    _issue(InvoiceKind.INVOICE, order, list_order_items(order), **describe_payment(order))


def issue_credit_note(order: Order, refund: Refund) -> None:
    """Issue the credit note of a refund, if its order has an invoice: orders from before the first invoice have none.

    Call it at the end of the transaction that adds the refund. The buyer is that of the invoice.
    """
    invoice = Invoice.objects.filter(order=order, kind=InvoiceKind.INVOICE).first()
    if invoice is not None:
        texts = {"corrects": invoice.number, "reason": refund.reason, "buyer": invoice.content["buyer"]}
        _issue(InvoiceKind.CREDIT_NOTE, order, list_refund_items(order, refund), refund, **texts)


def _issue(kind: InvoiceKind, order: Order, items: list[Item], refund: Refund | None = None, **texts: Any) -> None:
    now = clock.now()
    day = get_shop_day(now)
    content = make_content(order, items, day) | texts
    serial = _take_number(kind, day.year)
    Invoice.objects.create(
        kind=kind,
        year=day.year,
        serial=serial,
        number=f"{'C' if kind == InvoiceKind.CREDIT_NOTE else ''}{day.year}-{serial:05d}",
        order=order,
        refund=refund,
        total=sum(item.total for item in items),
        vat=sum_vat(items),
        currency=settings.SHOP_CURRENCY,
        content=content,
        issued_at=now,
    )


def _take_number(kind: InvoiceKind, year: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [kind.value, year])
        return int(cursor.fetchone()[0])


def get_first_kept_year() -> int:
    """Return the first year of the documents that must be kept."""
    return get_shop_day(clock.now()).year - settings.INVOICE_YEARS


def remove_old_invoices(seconds: float | None = None) -> int:
    """Remove the documents of years before the last ``INVOICE_YEARS``, or as many as fit into ``seconds``. Return their
    number. The counters stay, so no number is given twice.
    """
    first_kept, count, deadline = get_first_kept_year(), 0, Deadline(seconds)
    while not deadline.passed():
        old = Invoice.objects.filter(year__lt=first_kept).order_by("year", "pk")
        ids = list(old.values_list("pk", flat=True)[:SLICE_SIZE])
        count += Invoice.objects.filter(pk__in=ids).delete()[0]
        if len(ids) < SLICE_SIZE:
            break
    return count
