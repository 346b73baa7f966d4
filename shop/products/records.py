"""Records of products and sales, built from SQL for both Redis and the fallback."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from django.db.models import Count, F, Window
from django.db.models.functions import RowNumber

from mirror import Record
from mirror.conf import database
from shop.models import Product, Sale, SaleItem

MAX_PRODUCTS_PER_SALE: Final = 60  # in the record of a sale, which every page with sales reads


class SalePrice(NamedTuple):
    """The price of a product in one sale, in cents. starts, ends: seconds since 1970."""

    sale: int
    price: int
    starts: float
    ends: float


class ProductRow(NamedTuple):
    """A product's columns, and its past, current and future sales."""

    id: int
    price: int
    stock: int
    reserved: int
    is_active: bool
    sales: Sequence[SalePrice]


class SaleRow(NamedTuple):
    """A sale's columns. products: the ids of its first products with prices, in the order in which they were added.

    total: the number of all its products.
    """

    id: int
    name: str
    starts: float
    ends: float
    products: Sequence[tuple[int, int]]
    total: int


def load_products(ids: Sequence[int]) -> Mapping[str, ProductRow]:
    """Return the existing products by id. Two queries."""
    using = database()
    found = Product.objects.using(using).filter(pk__in=ids)
    rows = list(found.values_list("pk", "price", "stock", "reserved", "is_active"))
    sales: dict[int, list[SalePrice]] = defaultdict(list)
    items = SaleItem.objects.using(using).filter(product_id__in=ids).order_by("sale__starts_at", "sale_id")
    for product, sale, price, starts, ends in items.values_list(
        "product_id", "sale_id", "price", "sale__starts_at", "sale__ends_at"
    ):
        sales[product].append(SalePrice(sale, price, starts.timestamp(), ends.timestamp()))
    return {str(pk): ProductRow._make((pk, *columns, sales[pk])) for pk, *columns in rows}


def make_product_record(row: ProductRow) -> Record:
    """Return the record under ``product:<id>``.

    Prices are in cents, times in seconds since 1970; available: copies that can be bought.
    """
    return {
        "id": row.id,
        "price": row.price,
        "available": row.stock - row.reserved,
        "is_active": row.is_active,
        "sales": [sale._asdict() for sale in row.sales],
    }


def load_sales(ids: Sequence[int]) -> Mapping[str, SaleRow]:
    """Return the existing sales by id. Two queries."""
    using = database()
    rows = list(Sale.objects.using(using).filter(pk__in=ids).annotate(total=Count("items")))
    products: dict[int, list[tuple[int, int]]] = defaultdict(list)
    place = Window(RowNumber(), partition_by=F("sale_id"), order_by="pk")
    items = SaleItem.objects.using(using).filter(sale_id__in=ids).annotate(place=place).order_by("pk")
    first = items.filter(place__lte=MAX_PRODUCTS_PER_SALE)
    for sale, product, price in first.values_list("sale_id", "product_id", "price"):
        products[sale].append((product, price))
    return {
        str(row.pk): SaleRow(
            row.pk, row.name, row.starts_at.timestamp(), row.ends_at.timestamp(), products[row.pk], row.total
        )
        for row in rows
    }


def make_sale_record(row: SaleRow) -> Record:
    """Return the record under ``sale:<id>``. Times are in seconds since 1970, prices in cents.

    more: the number of products that are not in the record.
    """
    return {
        "id": row.id,
        "name": row.name,
        "starts": row.starts,
        "ends": row.ends,
        "products": [{"id": product, "price": price} for product, price in row.products],
        "more": row.total - len(row.products),
    }
