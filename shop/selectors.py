"""Reading products: from Redis, or, with the same answer, from SQL."""

from collections.abc import Sequence
from typing import Any

from catalog.results import BookRecord
from mirror import registry
from mirror.read import read
from mirror.shapes import shape_of
from shop import keys
from shop.books import ask_books, books_by_sql, books_said
from shop.records import load_products, product_record
from shop.results import ProductRecord


def get_products(ids: Sequence[int]) -> dict[int, ProductRecord]:
    """The products among ``ids``, for sale or not. From a warm mirror: 1 round trip and no SQL."""
    if not ids:
        return {}
    reading = read(["product"], lambda pipe: _ask(pipe, ids))
    return products_by_sql(ids) if reading is None else _said(ids, reading.replies[0])


def get_product(pk: int) -> ProductRecord | None:
    """One product, or None."""
    return get_products([pk]).get(pk)


def get_products_and_books(ids: Sequence[int]) -> tuple[dict[int, ProductRecord], dict[int, BookRecord]]:
    """The products among ``ids``, and the books. From warm mirrors: 1 round trip and no SQL (of none: neither)."""
    if not ids:
        return {}, {}

    def ask(pipe: Any) -> None:
        _ask(pipe, ids)
        ask_books(pipe, ids)

    reading = read(["product", "book"], ask)
    if reading is None:
        return products_by_sql(ids), books_by_sql(ids)
    products, books = reading.replies
    return _said(ids, products), books_said(ids, books)


def _ask(pipe: Any, ids: Sequence[int]) -> None:
    pipe.mget([keys.product(pk) for pk in ids])


def _said(ids: Sequence[int], reply: Sequence[bytes | None]) -> dict[int, ProductRecord]:
    return {pk: ProductRecord(raw) for pk, raw in zip(ids, reply, strict=True) if raw is not None}


def products_by_sql(ids: Sequence[int]) -> dict[int, ProductRecord]:
    """As ``get_products``, the same bytes, from SQL: two queries."""
    encode = shape_of(registry.get("product")).encode
    return {row.id: ProductRecord(encode(product_record(row))) for row in load_products(ids).values()}
