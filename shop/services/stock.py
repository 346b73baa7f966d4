"""Reserve, release and sell copies of products by conditional updates, in the order of product ids.

All functions run in the caller's transaction and apply completely or not at all. The fixed order prevents deadlocks. A
caller that also changes an order's state locks the order first.
"""

from collections.abc import Mapping

from django.db import transaction
from django.db.models import F, Q, Sum
from django.db.models.functions import Coalesce

from common.database import repeat_after_conflict
from mirror.relay import hint
from mirror.utils import after_commit
from shop import shortages
from shop.models import Order, OrderLine, OrderState, Product

Quantities = Mapping[int, int]  # product id -> copies


class TooFewCopies(Exception):
    """Too few copies are left. The caller must roll its transaction back."""


class LedgerError(Exception):
    """Copies of an order are missing from its products, so another program wrote to the products."""


def get_order_quantities(order_id: int) -> dict[int, int]:
    """Return the quantities of an order by product id, without copies that were refunded before it was sent."""
    back = Coalesce(Sum("refunds__quantity", filter=Q(refunds__is_unsent=True)), 0)
    lines = OrderLine.objects.filter(order_id=order_id).annotate(kept=F("quantity") - back)
    return dict(lines.values_list("product_id", "kept"))


def count_copies_to_send(order: Order) -> int:
    """Return the number of copies of an order that waits to be sent; 0 in other states."""
    return sum(get_order_quantities(order.pk).values()) if order.state == OrderState.PAID else 0


def reserve_copies(lines: Quantities) -> None:
    """Reserve copies. Raises TooFewCopies, also for products that are not for sale."""
    for pk, count in _in_lock_order(lines):
        # The condition is part of the update: after a separate read, two buyers could take the last copy.
        enough = Q(is_active=True, stock__gte=F("reserved") + count)
        if not Product.objects.filter(enough, pk=pk).update(reserved=F("reserved") + count):
            raise TooFewCopies
    _send_hint(lines)


def release_copies(lines: Quantities) -> None:
    """Release reserved copies. Raises LedgerError."""
    for pk, count in _in_lock_order(lines):
        # With the condition, a release that happens twice is an error, and does not take copies that others have
        # reserved.
        _require_change(Product.objects.filter(pk=pk, reserved__gte=count).update(reserved=F("reserved") - count), pk)
    _send_hint(lines)


def sell_reserved_copies(lines: Quantities) -> None:
    """Take reserved copies off the stock, for paid orders. Raises LedgerError."""
    for pk, count in _in_lock_order(lines):
        # Both columns in one statement, because stock minus reserved must not change when reserved copies are sold.
        changed = {"stock": F("stock") - count, "reserved": F("reserved") - count}
        _require_change(Product.objects.filter(pk=pk, reserved__gte=count).update(**changed), pk)
    _send_hint(lines)


@repeat_after_conflict
def sell_unreserved_copies(lines: Quantities) -> bool:
    """Sell copies without a reservation, even if the product is not for sale any more, because they are paid.

    Return False if too few are left.
    """
    try:
        # A savepoint, so that the first products get their copies back if a later one has too few.
        with transaction.atomic():
            for pk, count in _in_lock_order(lines):
                enough = Q(stock__gte=F("reserved") + count)
                if not Product.objects.filter(enough, pk=pk).update(stock=F("stock") - count):
                    raise TooFewCopies
    except TooFewCopies:
        return False
    _send_hint(lines)
    return True


def return_sold_copies(lines: Quantities) -> None:
    """Return sold copies to the stock. Raises LedgerError."""
    for pk, count in _in_lock_order(lines):
        _require_change(Product.objects.filter(pk=pk).update(stock=F("stock") + count), pk)
    _send_hint(lines)


def restock_copies(lines: Quantities) -> None:
    """Return sold copies to the stock, and let checkouts find them. Raises LedgerError."""
    return_sold_copies(lines)
    # After the commit: a checkout in between would still find too few copies, and remember that again.
    after_commit(shortages.forget_stock, list(lines))


def count_available_copies(ids: Mapping[int, int]) -> dict[int, int]:
    """Return the number of copies of each product that can be bought; 0 for products not for sale or unknown."""
    rows = Product.objects.for_sale().filter(pk__in=list(ids)).values_list("pk", "stock", "reserved")
    found = {pk: stock - reserved for pk, stock, reserved in rows}
    return {pk: found.get(pk, 0) for pk in ids}


def find_withdrawn(ids: Mapping[int, int]) -> set[int]:
    """Return the products that are not for sale any more."""
    return set(ids) - set(Product.objects.for_sale().filter(pk__in=list(ids)).values_list("pk", flat=True))


def _in_lock_order(lines: Quantities) -> list[tuple[int, int]]:
    """Return the products and quantities in the order in which every transaction updates them."""
    # In different orders, two transactions could each wait for a product that the other one has locked.
    return sorted(lines.items())


def _require_change(changed: int, pk: int) -> None:
    if not changed:
        raise LedgerError(f"product {pk} has fewer copies than its orders")


def _send_hint(lines: Quantities) -> None:
    hint("product", "", map(str, lines))
