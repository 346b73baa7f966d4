"""Products and sales as they are shown: records, built from SQL alike for Redis and for what SQL answers."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mirror.conf import setting
from mirror.declare import Record
from shop.models import Product, Sale, SaleItem


class SalePrice(NamedTuple):
    """What a product costs in a sale. starts, ends: seconds since 1970."""

    sale: int
    price: int
    starts: float
    ends: float


class ProductRow(NamedTuple):
    """A product's values as the database gives them, and the sales it is, was or will be in."""

    id: int
    price: int
    stock: int
    reserved: int
    is_active: bool
    sales: Sequence[SalePrice]


class SaleRow(NamedTuple):
    """A sale's values. products: ids, in the order in which they were put there, with their prices."""

    id: int
    name: str
    starts: float
    ends: float
    products: Sequence[tuple[int, int]]


def numbers(pks: Sequence[str]) -> list[int]:
    """Primary keys as numbers; what is none is no row's."""
    return [int(pk) for pk in pks if pk.isascii() and pk.isdecimal()]


def load_products(ids: Sequence[int]) -> Mapping[str, ProductRow]:
    """The products among ``ids``, by id: two queries."""
    database = setting("DATABASE")
    found = Product.objects.using(database).filter(pk__in=ids)
    rows = list(found.values_list("pk", "price", "stock", "reserved", "is_active"))
    sales: dict[int, list[SalePrice]] = defaultdict(list)
    items = SaleItem.objects.using(database).filter(product_id__in=ids).order_by("sale__starts_at", "sale_id")
    for product, sale, price, starts, ends in items.values_list(
        "product_id", "sale_id", "price", "sale__starts_at", "sale__ends_at"
    ):
        sales[product].append(SalePrice(sale, price, starts.timestamp(), ends.timestamp()))
    return {str(row[0]): ProductRow(*row, sales[row[0]]) for row in rows}


def product_record(row: ProductRow) -> Record:
    """What ``product:<id>`` says. Prices in cents; available: copies that can be bought; times: seconds since 1970."""
    return {
        "id": row.id,
        "price": row.price,
        "available": row.stock - row.reserved,
        "is_active": row.is_active,
        "sales": [sale._asdict() for sale in row.sales],
    }


def load_sales(ids: Sequence[int]) -> Mapping[str, SaleRow]:
    """The sales among ``ids``, by id: two queries."""
    database = setting("DATABASE")
    rows = list(Sale.objects.using(database).filter(pk__in=ids))
    products: dict[int, list[tuple[int, int]]] = defaultdict(list)
    items = SaleItem.objects.using(database).filter(sale_id__in=ids).order_by("pk")
    for sale, product, price in items.values_list("sale_id", "product_id", "price"):
        products[sale].append((product, price))
    return {
        str(row.pk): SaleRow(row.pk, row.name, row.starts_at.timestamp(), row.ends_at.timestamp(), products[row.pk])
        for row in rows
    }


def sale_record(row: SaleRow) -> Record:
    """What ``sale:<id>`` says. Times in seconds since 1970, prices in cents."""
    return {
        "id": row.id,
        "name": row.name,
        "starts": row.starts,
        "ends": row.ends,
        "products": [{"id": product, "price": price} for product, price in row.products],
    }
