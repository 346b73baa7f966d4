"""The personal data that the shop keeps. Orders stay after the account is deleted, without personal data."""

from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction

from accounts.personal import NotErasableYet, erase_nothing, make_part, register
from common.database import SLICE_SIZE, repeat_after_conflict
from shop.models import (
    Cart,
    EventKind,
    Order,
    OrderEvent,
    OrderLine,
    OrderState,
    Refund,
    Return,
    ReturnLine,
    SavedAddress,
    StockAlert,
    View,
)
from shop.models.event import TYPED_KINDS
from shop.returns.services import RETURNED
from shop.services.payments import REFUND_REASONS
from shop.services.refunds import REFUNDED_BY_STAFF

_NOBODY: Final[Mapping[str, Any]] = {
    "name": "",
    "email": "",
    "address": "",
    "address_parts": {},
    "phone": "",
    "tracking_number": "",
}
SITE_REASONS: Final = (REFUNDED_BY_STAFF, RETURNED, *REFUND_REASONS.values())  # of refunds
OPEN_STATES = (OrderState.RESERVED, OrderState.PAID)


def register_parts() -> None:
    """Register carts, views and orders."""
    order = ["id", "state", "total", "email", "name", "address", "country", "address_parts", "phone"]
    order += ["delivery_name", "delivery_price", "arrives_from", "arrives_by", "vat", "carrier", "tracking_number"]
    order += ["created_at", "paid_at", "sent_at", "cancelled_at"]
    line = ["order_id", "product_id", "title", "quantity", "price", "vat_rate", "vat"]
    register(make_part("carts", Cart, "user", ["lines", "ended_at"], erase=erase_nothing))  # erased with the user's row
    register(make_part("views", View, "user", ["book_id", "book__title", "seen_at"]))
    register(make_part("stock_alerts", StockAlert, "user", ["product_id", "kind", "cents", "created_at", "back_at"]))
    saved = ["name", "address", "country", "parts", "phone", "used_at"]
    register(make_part("saved_addresses", SavedAddress, "user", saved))
    register(make_part("orders", Order, "user", order, erase=_anonymise_orders))
    register(make_part("order_lines", OrderLine, "order__user", line, erase=erase_nothing))
    # With the notes that staff wrote about them.
    steps = ["order_id", "kind", "note", "created_at"]
    register(make_part("steps_of_orders", OrderEvent, "order__user", steps, erase=erase_nothing))
    back = ["id", "order_id", "state", "note", "answer", "created_at", "decided_at", "received_at"]
    register(make_part("returns", Return, "order__user", back, erase=erase_nothing))
    lines = ["order_return_id", "line_id", "quantity", "reason"]
    register(make_part("return_lines", ReturnLine, "order_return__order__user", lines, erase=erase_nothing))
    register(
        make_part(
            "order_steps", OrderEvent, "by", erase=erase_nothing, reason="It is staff's work on orders of other people."
        )
    )
    register(
        make_part("refunds_by_staff", Refund, "by", erase=erase_nothing, reason="It is staff's work on others' orders.")
    )


@repeat_after_conflict
def _anonymise_orders(user_id: int) -> bool:
    """Remove personal data from one slice of orders. Raise NotYet while an order must still be paid for or sent."""
    orders = Order.objects.filter(user_id=user_id)
    with transaction.atomic():
        ids = list(orders.exclude(state__in=OPEN_STATES).values_list("pk", flat=True)[:SLICE_SIZE])
        Return.objects.filter(order__in=ids).update(note="", answer="")
        Order.objects.filter(pk__in=ids).update(user=None, **_NOBODY)
        # A number leads to the address, and a note may name the reader.
        OrderEvent.objects.filter(order__in=ids, kind__in=TYPED_KINDS).update(note="")
        # So may a reason that staff typed.
        reasons = OrderEvent.objects.filter(order__in=ids, kind=EventKind.REFUND_DUE)
        reasons.exclude(note__in=SITE_REASONS).update(note="")
        Refund.objects.filter(payment__order__in=ids).exclude(reason__in=SITE_REASONS).update(reason="")
    if len(ids) < SLICE_SIZE and orders.exists():
        raise NotErasableYet
    return len(ids) == SLICE_SIZE
