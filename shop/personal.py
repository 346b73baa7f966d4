"""The personal data that the shop keeps. Orders stay after the account is deleted, without personal data."""

from django.db import transaction

from accounts.personal import NotYet, leave, register, rows
from config.bulk import SLICE
from shop.models import Cart, Order, OrderEvent, OrderLine, State, View

OPEN = (State.RESERVED, State.PAID)


def register_parts() -> None:
    """Register carts, views and orders."""
    order = ["id", "state", "total", "email", "name", "address", "created_at", "paid_at", "sent_at", "cancelled_at"]
    line = ["order_id", "product_id", "title", "quantity", "price"]
    register(rows("carts", Cart, "user", ["lines", "ended_at"], erase=leave))  # erased with the user's row
    register(rows("views", View, "user", ["book_id", "book__title", "seen_at"]))
    register(rows("orders", Order, "user", order, erase=_anonymise_orders))
    register(rows("order_lines", OrderLine, "order__user", line, erase=leave))
    register(rows("order_steps", OrderEvent, "by", erase=leave, reason="It is staff's work on orders of other people."))


def _anonymise_orders(user_id: int) -> bool:
    """Remove personal data from one slice of orders. Raise NotYet while an order must still be paid for or sent."""
    orders = Order.objects.filter(user_id=user_id)
    with transaction.atomic():
        ids = list(orders.exclude(state__in=OPEN).values_list("pk", flat=True)[:SLICE])
        Order.objects.filter(pk__in=ids).update(user=None, name="", email="", address="")
    if len(ids) < SLICE and orders.exists():
        raise NotYet
    return len(ids) == SLICE
