"""Staff's changes of products. Stock changes only by conditional updates, because orders change it at the same time.

Several products are locked in the order of their ids first, as orders do (``shop.services.stock``). A single update
would lock them in the order of the disk, and could deadlock with an order of two of them.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from django.db import transaction
from django.db.models import F

from common.csv import RowEdit
from common.database import SLICE_SIZE, repeat_after_conflict
from common.refusals import Refused
from mirror.relay import hint
from shop.models import Product
from shop.models.product import ProductQuerySet

MAX_STOCK: Final = 1_000_000_000  # copies of one product


def change_stock(product_id: int, by: int) -> bool:
    """Add copies to a product, or remove them if ``by`` is negative. Return whether it was done.

    It is refused if fewer copies would be left than are reserved.
    """
    enough = Product.objects.filter(pk=product_id, stock__gte=F("reserved") - by, stock__lte=MAX_STOCK - by)
    changed = bool(enough.update(stock=F("stock") + by))
    hint("product", "", [str(product_id)])
    return changed


@repeat_after_conflict
@transaction.atomic
def add_copies(stocks: Mapping[int, int], count: int) -> set[int]:
    """Add copies to products. Return the ids of the changed ones; none may exceed ``MAX_STOCK`` copies.

    stocks: the stock that staff saw, by product id. A product with another stock stays as it is, so a form that is sent
    twice adds its copies once.
    """
    products = _lock_products(list(stocks)).filter(stock__lte=MAX_STOCK - count).values_list("pk", "stock")
    changed = {pk for pk, stock in products if stock == stocks[pk]}
    Product.objects.filter(pk__in=changed).update(stock=F("stock") + count)
    hint("product", "", map(str, changed))
    return changed


@repeat_after_conflict
@transaction.atomic
def set_for_sale(ids: Sequence[int], *, is_active: bool) -> int:
    """Put products on sale or withdraw them. Return the number of changed products."""
    changed = _lock_products(ids).filter(is_active=not is_active).update(is_active=is_active)
    hint("product", "", map(str, ids))
    return changed


ProductEdit = RowEdit[Product]


class ProductsChanged(Refused):
    """A product has other values than those that staff saw, so nothing was changed."""


@repeat_after_conflict
@transaction.atomic
def apply_edits(edits: Sequence[ProductEdit]) -> None:
    """Make all changes or none. Raises ProductsChanged unless all products have the old values.

    Also for the stock: the difference would be added twice if the form is sent twice at once.
    """
    ids = [edit.row.pk for edit in edits]
    present = {product.pk: product for product in _lock_products(ids)}
    for edit in edits:
        product = present.get(edit.row.pk)
        if product is None:
            raise ProductsChanged
        for field, (old, new) in edit.changes.items():
            if int(getattr(product, field)) != old:
                raise ProductsChanged
            setattr(product, field, new)
        if not product.reserved <= product.stock <= MAX_STOCK:
            raise ProductsChanged
    Product.objects.bulk_update(present.values(), ["price", "stock", "grams"], batch_size=SLICE_SIZE)
    hint("product", "", map(str, ids))


def _lock_products(ids: Sequence[int]) -> ProductQuerySet:
    """Lock these products until the end of the transaction."""
    products = Product.objects.filter(pk__in=ids)
    list(products.order_by("pk").select_for_update(no_key=True).values_list("pk"))
    return products
