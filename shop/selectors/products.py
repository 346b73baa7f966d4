"""Read products, alone or with their books."""

from collections.abc import Sequence

import mirror
from catalog.listing import BookRecord
from catalog.mirrors import BookMirror
from shop.mirrors import ProductMirror
from shop.products.results import ProductRecord


def get_products_and_books(ids: Sequence[int]) -> tuple[dict[int, ProductRecord], dict[int, BookRecord]]:
    """Return the existing products, for sale or not, and books by id, in one round trip."""
    with mirror.together() as reads:
        products, books = reads(ProductMirror.get_many, ids), reads(BookMirror.get_many, ids)
    return products.value, books.value
