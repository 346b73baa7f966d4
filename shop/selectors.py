"""Reading products: from Redis, or, with the same answer, from SQL."""

from collections.abc import Sequence

from mirror import registry
from mirror.read import read
from mirror.shapes import shape_of
from shop import keys
from shop.records import load_products, product_record
from shop.results import ProductRecord


def get_products(ids: Sequence[int]) -> dict[int, ProductRecord]:
    """The products among ``ids``, for sale or not. From a warm mirror: 1 round trip and no SQL."""
    if not ids:
        return {}
    reading = read(["product"], lambda pipe: pipe.mget([keys.product(pk) for pk in ids]))
    if reading is None:
        return products_by_sql(ids)
    return {pk: ProductRecord(raw) for pk, raw in zip(ids, reading.replies[0], strict=True) if raw is not None}


def get_product(pk: int) -> ProductRecord | None:
    """One product, or None."""
    return get_products([pk]).get(pk)


def products_by_sql(ids: Sequence[int]) -> dict[int, ProductRecord]:
    """As ``get_products``, the same bytes, from SQL: two queries."""
    encode = shape_of(registry.get("product")).encode
    return {row.id: ProductRecord(encode(product_record(row))) for row in load_products(ids).values()}
