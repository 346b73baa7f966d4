"""Read products from Redis, with an equal answer from SQL as the fallback."""

from collections.abc import Sequence
from typing import Final

from catalog.listing import BookRecord
from mirror.read import ask_sql, get_encoder, read
from mirror.redis import RedisPipeline
from shop import keys
from shop.products.records import load_products, make_product_record
from shop.products.results import ProductRecord
from shop.selectors.books import decode_books, load_books_from_sql, queue_books

MIRRORS: Final = ("product", "book")


def get_products(ids: Sequence[int]) -> dict[int, ProductRecord]:
    """Return the existing products by id, for sale or not. With a warm mirror it takes 1 round trip and no SQL."""
    if not ids:
        return {}
    reading = read(["product"], lambda pipe: _queue_products(pipe, ids))
    return load_products_from_sql(ids) if reading is None else _decode_products(ids, reading.replies[0])


def get_product(pk: int) -> ProductRecord | None:
    """Return one product, or None."""
    return get_products([pk]).get(pk)


def get_products_and_books(
    ids: Sequence[int], *, may_lag: bool = False
) -> tuple[dict[int, ProductRecord], dict[int, BookRecord]]:
    """Return the existing products and books by id. With warm mirrors it takes 1 round trip and no SQL.

    may_lag: whether a read replica of SQL may answer; the cart and the checkout need the present prices and stock.
    """
    if not ids:
        return {}, {}

    def ask(pipe: RedisPipeline) -> None:
        _queue_products(pipe, ids)
        queue_books(pipe, ids)

    def load() -> tuple[dict[int, ProductRecord], dict[int, BookRecord]]:
        return load_products_from_sql(ids), load_books_from_sql(ids)

    reading = read(MIRRORS, ask)
    if reading is None:
        return ask_sql(MIRRORS, load) if may_lag else load()
    products, books = reading.replies
    return _decode_products(ids, products), decode_books(ids, books)


def _queue_products(pipe: RedisPipeline, ids: Sequence[int]) -> None:
    pipe.mget([keys.product(pk) for pk in ids])


def _decode_products(ids: Sequence[int], reply: Sequence[bytes | None]) -> dict[int, ProductRecord]:
    return {pk: ProductRecord(raw) for pk, raw in zip(ids, reply, strict=True) if raw is not None}


def load_products_from_sql(ids: Sequence[int]) -> dict[int, ProductRecord]:
    """Return the same as ``get_products``, byte for byte, from SQL. Two queries."""
    encode = get_encoder("product")
    return {row.id: ProductRecord(encode(make_product_record(row))) for row in load_products(ids).values()}
