"""The personal data that invoices contain."""

from accounts.personal import erase_nothing, make_part, register
from shop.invoices.models import Invoice


def register_parts() -> None:
    """Register the invoices of a reader's orders.

    They keep the buyer's name and address when the account is deleted, because tax law requires to keep invoices. They
    are removed after ``INVOICE_YEARS``.
    """
    columns = ["number", "kind", "order_id", "total", "vat", "currency", "content", "issued_at"]
    register(make_part("invoices", Invoice, "order__user", columns, erase=erase_nothing))
