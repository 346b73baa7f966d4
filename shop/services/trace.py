"""Writing down what happens to orders, and locking them."""

from accounts.models import User
from shop.models import EventKind, Order, OrderEvent, Payment


def note(
    order_id: int, kind: EventKind, *, payment: Payment | None = None, by: User | None = None, why: str = ""
) -> None:
    """One step of an order, in the transaction that makes it."""
    OrderEvent.objects.create(order_id=order_id, kind=kind, payment=payment, by=by, note=why[:200])


def locked(order_id: int) -> Order:
    """The order, to itself until the end of the transaction: what changes an order's state begins with this.

    (SQLite has one writer, from the beginning of a transaction on.)
    """
    return Order.objects.select_for_update(no_key=True).get(pk=order_id)
