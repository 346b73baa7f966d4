"""The documents of an order, for its buyer."""

from collections.abc import Sequence
from typing import NamedTuple

from shop.invoices.models import Invoice
from shop.models import Order
from shop.selectors.links import make_invoice_path


class InvoiceLink(NamedTuple):
    """A document, without its content, and the path of its PDF."""

    found: Invoice
    path: str


def list_invoices(order: Order) -> Sequence[InvoiceLink]:
    """Return the documents of an order, the invoice first. One query; none for an order that was never paid."""
    if order.paid_at is None:
        return ()
    found = order.invoices.defer("content").order_by("pk")
    return [InvoiceLink(each, make_invoice_path(order, each.pk)) for each in found]
