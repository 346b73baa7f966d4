"""Orders of the demo's customers, written in bulk with their payments and steps."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain

from demo.shop.items import Item
from demo.shop.visits import Visit
from shop.importer import bulk_insert
from shop.models import (
    EventKind,
    FakeCharge,
    Order,
    OrderEvent,
    OrderLine,
    OrderState,
    Payment,
    PaymentState,
)


def add_orders(visits: dict[int, Visit], names: dict[int, str], now: datetime) -> None:
    keys = {number: f"demo:{number}" for number in visits}
    orders = [_build_order(keys[number], number, visit, names[visit.user], now) for number, visit in visits.items()]
    bulk_insert(Order, orders)
    # Bulk inserts return no ids on every database, so the rows are found again by their keys.
    ids = dict(Order.objects.filter(key__in=keys.values()).values_list("key", "pk"))
    lines: list[OrderLine] = []
    for number, visit in visits.items():
        lines += [_build_line(ids[keys[number]], item) for item in visit.buys]
    bulk_insert(OrderLine, lines)
    paid = [order for order in orders if order.paid_at is not None]
    bulk_insert(Payment, [_build_payment(order, ids[order.key]) for order in paid])
    # The fake provider knows these charges, so that staff can refund them.
    bulk_insert(FakeCharge, [_build_charge(order) for order in paid])
    payments = dict(Payment.objects.filter(key__in=keys.values()).values_list("key", "pk"))
    events = (_build_events(order, ids[order.key], payments.get(order.key)) for order in orders)
    bulk_insert(OrderEvent, chain.from_iterable(events))


def _build_line(order_id: int, item: Item) -> OrderLine:
    return OrderLine(order_id=order_id, product_id=item.pk, title=item.title, quantity=1, price=item.price)


def _build_charge(order: Order) -> FakeCharge:
    at = order.paid_at
    assert at is not None  # only paid orders have a charge
    return FakeCharge(key=order.key, amount=order.total, succeeds=True, answers_at=at, created_at=at)


def _build_events(order: Order, order_id: int, payment_id: int | None) -> Iterator[OrderEvent]:
    """Yield the steps that the services record."""
    steps = [
        (EventKind.ORDERED, order.created_at),
        (EventKind.PAID, order.paid_at),
        (EventKind.CANCELLED, order.cancelled_at),
        (EventKind.SENT, order.sent_at),
    ]
    for kind, at in steps:
        if at is not None:
            paid_with = payment_id if kind is EventKind.PAID else None
            buyer = order.user_id if kind is EventKind.ORDERED else None
            yield OrderEvent(order_id=order_id, kind=kind, payment_id=paid_with, by_id=buyer, created_at=at)


def _build_payment(order: Order, order_id: int) -> Payment:
    times = {"created_at": order.paid_at, "updated_at": order.paid_at, "ask_at": order.paid_at}
    reference = f"demo-{order_id}"
    return Payment(
        order_id=order_id,
        key=order.key,
        state=PaymentState.SUCCEEDED,
        amount=order.total,
        reference=reference,
        **times,
    )


def _build_order(key: str, number: int, visit: Visit, name: str, now: datetime) -> Order:
    """Return an order that was sent, a cancelled one for one in thirty numbers, or one of today that is to be sent."""
    at = visit.ordered
    state, times = OrderState.SENT, {"paid_at": at, "sent_at": at + timedelta(days=1)}
    if number % 30 == 7:
        state, times = OrderState.CANCELLED, {"cancelled_at": at}
    elif times["sent_at"] > now:
        state, times = OrderState.PAID, {"paid_at": at}
    is_sent = state == OrderState.SENT
    return Order(
        user_id=visit.user,
        key=key,
        state=state,
        total=sum(item.price for item in visit.buys),
        email="reader@diptych.invalid",
        name=name,
        address="1 Quay Street\nHARROGATE\nHG1 1AA\nUNITED KINGDOM",
        country="GB",
        carrier="Royal Mail" if is_sent else "",
        tracking_number=f"DM{number:09}GB" if is_sent else "",
        address_parts={"street": "1 Quay Street", "city": "Harrogate", "postcode": "HG1 1AA"},
        created_at=at,
        reserved_until=at,
        confirmed_at=at,
        **times,
    )
