"""Copies of products: set aside, given back, sold. SQL decides, by conditional updates, products in order of their ids.

All of it runs in the caller's transaction, and all of a call is done or none of it. That order is the same for
everybody, so nobody waits for one who waits for them; and whoever changes an order's state as well locks that first.
"""

from collections.abc import Mapping

from django.db import transaction
from django.db.models import F, Q

from mirror.hints import hint
from shop.models import OrderLine, Product

Lines = Mapping[int, int]  # product id -> copies


class TooFew(Exception):
    """There are not that many. The caller's transaction has to be rolled back."""


class LedgerError(Exception):
    """Copies that an order has are not there: something else wrote to the products."""


def lines_of(order_id: int) -> dict[int, int]:
    """What an order has."""
    return dict(OrderLine.objects.filter(order_id=order_id).values_list("product_id", "quantity"))


def reserve(lines: Lines) -> None:
    """Set copies aside. Raises TooFew, also for what is not for sale."""
    for pk, count in sorted(lines.items()):
        enough = Q(is_active=True, stock__gte=F("reserved") + count)
        if not Product.objects.filter(enough, pk=pk).update(reserved=F("reserved") + count):
            raise TooFew
    _tell(lines)


def give_back(lines: Lines) -> None:
    """Copies that were set aside can be bought by others."""
    for pk, count in sorted(lines.items()):
        _must(Product.objects.filter(pk=pk, reserved__gte=count).update(reserved=F("reserved") - count), pk)
    _tell(lines)


def sell(lines: Lines) -> None:
    """Copies that were set aside are sold."""
    for pk, count in sorted(lines.items()):
        changed = {"stock": F("stock") - count, "reserved": F("reserved") - count}
        _must(Product.objects.filter(pk=pk, reserved__gte=count).update(**changed), pk)
    _tell(lines)


def sell_anew(lines: Lines) -> bool:
    """Copies that were not set aside are sold, for sale or not: they are paid. False: there are not that many."""
    try:
        with transaction.atomic():
            for pk, count in sorted(lines.items()):
                enough = Q(stock__gte=F("reserved") + count)
                if not Product.objects.filter(enough, pk=pk).update(stock=F("stock") - count):
                    raise TooFew
    except TooFew:
        return False
    _tell(lines)
    return True


def take_back(lines: Lines) -> None:
    """Copies that were sold are in the house again."""
    for pk, count in sorted(lines.items()):
        _must(Product.objects.filter(pk=pk).update(stock=F("stock") + count), pk)
    _tell(lines)


def left(ids: Mapping[int, int]) -> dict[int, int]:
    """How many copies of each of these can be bought now; 0 for what is not for sale, or is none."""
    rows = Product.objects.for_sale().filter(pk__in=list(ids)).values_list("pk", "stock", "reserved")
    found = {pk: stock - reserved for pk, stock, reserved in rows}
    return {pk: found.get(pk, 0) for pk in ids}


def _must(changed: int, pk: int) -> None:
    if not changed:
        raise LedgerError(f"product {pk} has not the copies that its orders have")


def _tell(lines: Lines) -> None:
    hint("product", "", map(str, lines))
