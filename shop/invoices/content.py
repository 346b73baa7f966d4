"""What an invoice or a credit note says, as JSON. Amounts are in cents with VAT; a credit note has negative ones.

It is frozen: the PDF is drawn from it alone, whatever becomes of the order, the account and the shop's settings. Older
documents lack the fields that were added later, and their PDF leaves them out.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from django.conf import settings

from shop.delivery.days import get_shop_day
from shop.delivery.vat import format_rate
from shop.models import Order, Refund
from shop.seller import get_seller


class Item(NamedTuple):
    """A line of a document. title: "" for delivery. quantity: 0 for delivery and for a lower price.

    price: of one copy; None for delivery, and in credit notes, whose copies may have had different prices.
    """

    title: str
    quantity: int
    total: int
    rate: Decimal | None
    vat: int | None
    price: int | None = None


def list_order_items(order: Order) -> list[Item]:
    """Return the items of an order. One query."""
    items = [
        Item(line.title, line.quantity, line.total, line.vat_rate, line.vat, line.price)
        for line in order.lines.order_by("pk")
    ]
    if order.delivery_price:
        items.append(Item("", 0, order.delivery_price, order.delivery_vat_rate, order.delivery_vat))
    return items


def list_refund_items(order: Order, refund: Refund) -> list[Item]:
    """Return the items of a refund, with negative amounts. One or two queries.

    A refund from before refunds had lines is one of the whole order.
    """
    items = []
    for part in refund.lines.select_related("line").order_by("pk"):
        title, rate = (part.line.title, part.line.vat_rate) if part.line else ("", order.delivery_vat_rate)
        vat = None if part.vat is None else -part.vat
        items.append(Item(title, part.quantity, -part.amount, rate, vat))
    return items or [_negate(item) for item in list_order_items(order)]


def _negate(item: Item) -> Item:
    return item._replace(total=-item.total, vat=None if item.vat is None else -item.vat)


def sum_vat(items: Iterable[Item]) -> int | None:
    """Return the VAT of all items in cents, or None if the shop charged none."""
    found = [item.vat for item in items if item.vat is not None]
    return sum(found) if found else None


def make_content(order: Order, items: Sequence[Item], issued: date) -> dict[str, Any]:
    """Return the content of a document about these items."""
    seller = get_seller()
    return {
        "ordered": get_shop_day(order.created_at).isoformat(),
        "issued": issued.isoformat(),
        "language": order.language or settings.LANGUAGE_CODE,
        "seller": seller._asdict() if seller else None,
        "buyer": {"name": order.name, "address": order.address, "country": order.country},
        "items": [_describe_item(item) for item in items],
        "rates": _sum_by_rate(items),
    }


def describe_payment(order: Order) -> dict[str, Any]:
    """Return the further content of an invoice: the day of the payment, None if it is not paid, and of delivery.

    delivery: the first and the last promised day, None for an order without them.
    """
    first, last = order.arrives_from, order.arrives_by
    return {
        "paid": get_shop_day(order.paid_at).isoformat() if order.paid_at else None,
        "delivery": [first.isoformat(), last.isoformat()] if first and last else None,
    }


def _describe_item(item: Item) -> dict[str, Any]:
    described = {
        "title": item.title,
        "quantity": item.quantity,
        "total": item.total,
        "vat_rate": None if item.rate is None else format_rate(item.rate),
        "vat": item.vat,
    }
    return described if item.price is None else described | {"price": item.price}


def _sum_by_rate(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return the sums by rate, the lowest rate first: with VAT, and the VAT in them."""
    sums: dict[Decimal, tuple[int, int]] = {}
    for item in items:
        if item.rate is not None and item.vat is not None:
            total, vat = sums.get(item.rate, (0, 0))
            sums[item.rate] = total + item.total, vat + item.vat
    return [{"rate": format_rate(rate), "total": total, "vat": vat} for rate, (total, vat) in sorted(sums.items())]
