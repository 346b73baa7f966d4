"""Staff's changes of products. Stock changes by conditional updates alone: orders change it at the same time.

Several are locked in order of their ids first, as orders do (``shop.services.stock``). One update of them all would
lock them as they lie on the disk: then it and an order of two of them can wait for each other.
"""

from collections.abc import Sequence
from typing import Final

from django.db import transaction
from django.db.models import F

from mirror.hints import hint
from shop.models import Product
from shop.models.product import ProductQuerySet

MOST: Final = 1_000_000_000  # copies of one book


def change_stock(product_id: int, by: int) -> bool:
    """So many copies more (or less, below zero). False, and nothing is done: fewer would be left than are promised."""
    enough = Product.objects.filter(pk=product_id, stock__gte=F("reserved") - by, stock__lte=MOST - by)
    changed = bool(enough.update(stock=F("stock") + by))
    hint("product", "", [str(product_id)])
    return changed


@transaction.atomic
def add_copies(ids: Sequence[int], count: int) -> set[int]:
    """So many copies more of each. Returns of which (none has more than MOST copies)."""
    changed = set(_locked(ids).filter(stock__lte=MOST - count).values_list("pk", flat=True))
    Product.objects.filter(pk__in=changed).update(stock=F("stock") + count)
    hint("product", "", map(str, changed))
    return changed


@transaction.atomic
def offer(ids: Sequence[int], *, is_active: bool) -> int:
    """They are for sale, or are not. Returns of how many that is news."""
    changed = _locked(ids).filter(is_active=not is_active).update(is_active=is_active)
    hint("product", "", map(str, ids))
    return changed


def _locked(ids: Sequence[int]) -> ProductQuerySet:
    """These products, until the end of the transaction."""
    products = Product.objects.filter(pk__in=ids)
    list(products.order_by("pk").select_for_update(no_key=True).values_list("pk"))
    return products
