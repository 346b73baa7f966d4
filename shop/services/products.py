"""Staff's changes of products. Stock changes by conditional updates alone: orders change it at the same time."""

from collections.abc import Sequence
from typing import Final

from django.db.models import F

from mirror.hints import hint
from shop.models import Product

MOST: Final = 1_000_000_000  # copies of one book


def change_stock(product_id: int, by: int) -> bool:
    """So many copies more (or less, below zero). False, and nothing is done: fewer would be left than are promised."""
    enough = Product.objects.filter(pk=product_id, stock__gte=F("reserved") - by, stock__lte=MOST - by)
    changed = bool(enough.update(stock=F("stock") + by))
    hint("product", "", [str(product_id)])
    return changed


def add_copies(ids: Sequence[int], count: int) -> int:
    """So many copies more of each. Returns how many products it was (none has more than MOST copies)."""
    changed = Product.objects.filter(pk__in=ids, stock__lte=MOST - count).update(stock=F("stock") + count)
    hint("product", "", map(str, ids))
    return changed


def offer(ids: Sequence[int], *, is_active: bool) -> int:
    """They are for sale, or are not. Returns of how many that is news."""
    changed = Product.objects.filter(pk__in=ids, is_active=not is_active).update(is_active=is_active)
    hint("product", "", map(str, ids))
    return changed
