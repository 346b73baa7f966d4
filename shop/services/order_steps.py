"""Record the steps of orders, and lock orders."""

from accounts.models import User
from shop.models import EventKind, Order, OrderEvent, Payment
from shop.models.event import MAX_NOTE


def record_step(
    order_id: int, kind: EventKind, *, payment: Payment | None = None, by: User | None = None, why: str = ""
) -> None:
    """Record a step of an order in the transaction that makes it."""
    OrderEvent.objects.create(order_id=order_id, kind=kind, payment=payment, by=by, note=why[:MAX_NOTE])


def lock_order(order_id: int) -> Order:
    """Lock an order until the end of the transaction and return it. Every change of an order's state starts with this.

    SQLite needs no row lock, because it allows one writer at a time.
    """
    return Order.objects.select_for_update(no_key=True).get(pk=order_id)
