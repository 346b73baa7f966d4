"""Changes of many prices: by a percentage or an amount, and sales by a percentage."""

import re
import unicodedata
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, NamedTuple

from django.db import transaction

from catalog.models import Tag
from common.database import SLICE_SIZE, repeat_after_conflict
from mirror.relay import hint
from shop.models import Product, Sale, SaleItem
from shop.models.product import ProductQuerySet
from shop.money import get_decimals, to_units

MAX_PERCENT: Final = 1000
MAX_TAGGED_PRODUCTS: Final = 5000  # that one save adds to a sale
EXAMPLE_CENTS: Final = 250
_CHANGE: Final = re.compile(r"([+\-−])\s*([0-9]{1,9})(?:[.,]([0-9]{1,3}))?\s*(%?)")


def get_example() -> str:
    """Return a change of prices by an amount, as staff may type it: "-2.50", or "-250" without decimals."""
    return f"-{to_units(EXAMPLE_CENTS)}"


class PriceChange(NamedTuple):
    """A change of prices. percent: by this part of the price. cents: by this amount. One of them is 0."""

    percent: Decimal = Decimal(0)
    cents: int = 0

    def apply(self, price: int) -> int:
        """Return the new price in cents, rounded half up. It may be negative."""
        return round_cents(price * (100 + self.percent) / 100) + self.cents


def round_cents(cents: Decimal) -> int:
    """Return a whole number of cents."""
    return int(cents.quantize(Decimal(1), ROUND_HALF_UP))


def parse_price_change(text: str) -> PriceChange | None:
    """Return the change that staff typed, such as "+10%" or "-2.50"; None for any other text."""
    # Forms clean typed text, but leave signs such as a full-width percent, which may be punctuation elsewhere.
    found = _CHANGE.fullmatch(unicodedata.normalize("NFKC", text).strip())
    if found is None:
        return None
    sign, whole, fraction, percent = found.groups()
    number = Decimal(f"{whole}.{fraction or 0}") * (1 if sign == "+" else -1)
    if percent:
        return PriceChange(percent=number) if abs(number) <= MAX_PERCENT else None
    cents = number.scaleb(get_decimals())
    # More decimals than the currency has would be lost.
    return PriceChange(cents=int(cents)) if cents == int(cents) else None


@repeat_after_conflict
@transaction.atomic
def set_prices(prices: Mapping[int, tuple[int, int]]) -> set[int]:
    """Set prices by product id, each from an old to a new price in cents. Return the ids of the changed products.

    A product with another price than the old one stays as it is: staff saw the old one when they decided.
    """
    changed: set[int] = set()
    # In the order of orders, which lock products by their ids.
    for pk, (old, new) in sorted(prices.items()):
        if Product.objects.filter(pk=pk, price=old).update(price=new):
            changed.add(pk)
    hint("product", "", map(str, changed))
    return changed


def find_products_to_add(sale_id: int | None, tag: Tag) -> ProductQuerySet:
    """Return the products for sale with a tag that a sale lacks. sale_id: None for a new sale."""
    found = Product.objects.for_sale().filter(book__tags=tag)
    return found if sale_id is None else found.exclude(sale_items__sale=sale_id)


def find_products_made_free(sale_id: int | None, tag: Tag, percent: Decimal) -> list[str]:
    """Return the titles of the products with a tag that a sale lacks, and whose prices there would be rounded to 0."""
    change = PriceChange(percent=-percent)
    prices = find_products_to_add(sale_id, tag).filter(price__gt=0).order_by("pk")
    return [title for title, price in prices.values_list("book__title", "price") if change.apply(price) <= 0]


@repeat_after_conflict
@transaction.atomic
def add_tagged_products(sale: Sale, tag: Tag, percent: Decimal) -> int:
    """Add the products for sale with a tag to a sale, at prices that are lower by ``percent``. Return their number.

    Products that the sale already has keep their prices there. Products that would be free are left out.
    """
    change = PriceChange(percent=-percent)
    prices = find_products_to_add(sale.pk, tag).order_by("pk").values_list("pk", "price")
    lowered = {pk: change.apply(price) for pk, price in prices}
    items = [SaleItem(sale=sale, product_id=pk, price=price) for pk, price in lowered.items() if price > 0]
    # Another member of staff may add one of them at the same time.
    SaleItem.objects.bulk_create(items, ignore_conflicts=True, batch_size=SLICE_SIZE)
    return len(items)
