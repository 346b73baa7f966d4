"""The mirror of products."""

from collections.abc import Mapping, Sequence
from typing import Any

import mirror
from catalog import keys as catalog_keys
from common.ids import parse_ids
from mirror import Mirror, Ranking, Record, SetOf, SqlMembers, Watch
from mirror.conf import database, setting
from shop import keys
from shop.models import Product, Sale, SaleItem
from shop.products.records import ProductRow, load_products, make_product_record
from shop.products.results import ProductRecord


def find_products_in_sales(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of products in these sales, without duplicates."""
    found = SaleItem._base_manager.using(setting("DATABASE")).filter(sale_id__in=parse_ids(values))
    if after is not None:
        found = found.filter(product_id__gt=after)
    return [str(pk) for pk in found.order_by("product_id").values_list("product_id", flat=True).distinct()[:limit]]


def find_for_sale(values: Mapping[str, str]) -> SqlMembers:
    """Return the products for sale, by price."""
    return SqlMembers(Product.objects.using(database()).for_sale(), score="price")


def find_in_stock(values: Mapping[str, str]) -> SqlMembers:
    """Return the products for sale with copies left."""
    return SqlMembers(Product.objects.using(database()).for_sale().with_copies(least=1))


def is_in_stock(record: Mapping[str, Any]) -> bool:
    """Return whether a product is for sale and has copies left."""
    return bool(record["is_active"] and record["available"] > 0)


@mirror.register
class ProductMirror(Mirror[ProductRecord]):
    """A product's record, its entry in the order by price while it is for sale, and its entry among products
    in stock.
    """

    version = 2
    model = Product
    record_class = ProductRecord
    key = keys.product("{pk}")
    watches = (
        Watch(Product),
        Watch(SaleItem, "product_id"),
        Watch(Sale, via=find_products_in_sales, only=("starts_at", "ends_at"), inserts=False),
    )
    indexes = (
        Ranking(keys.products_by_price(), score="price", when="is_active", sql=find_for_sale),
        SetOf(keys.products_in_stock(), when=is_in_stock, sql=find_in_stock),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, ProductRow]:
        return load_products(parse_ids(pks))

    def record(self, row: Any) -> Record:
        return make_product_record(row)

    def feed(self) -> str:
        """Return the catalogue's feed, because the catalogue's index in each process also sorts by price."""
        return catalog_keys.changes()
