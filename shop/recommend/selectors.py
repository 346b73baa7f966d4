"""The recommendations on a book's page: the stored rows without products that cannot be bought now."""

from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from catalog.listing import BookRecord
from mirror.read import RawRecord, read_from_sql
from shop.mirrors import RecommendationMirror
from shop.products.results import ProductRecord
from shop.selectors.products import get_products_and_books

MAX_SHOWN: Final = 8  # products per strip


class Recommended(NamedTuple):
    """A recommended book that can be bought, with one of two reasons.

    percent: the share of viewers who bought it. both: the number of customers who bought both.
    """

    book: BookRecord
    product: ProductRecord
    percent: int | None = None
    both: int | None = None


class RecommendationStrips(NamedTuple):
    """viewbuy: bought after a view. bought: also bought. Best first, at most SHOWN each."""

    viewbuy: list[Recommended]
    bought: list[Recommended]


NO_STRIPS: Final = RecommendationStrips([], [])


class RecommendationRecord(RawRecord):
    """The record ``rec:<id>``: id, bought, viewbuy. The products to show are read once, on first use."""

    __slots__ = ("__dict__",)

    @cached_property
    def strips(self) -> RecommendationStrips:
        """The recommended books that can be bought. With warm mirrors it takes 1 round trip and no SQL."""
        viewbuy, bought = self["viewbuy"], self["bought"]
        others = list(dict.fromkeys(other for other, *_ in (*viewbuy, *bought)))
        products, books = get_products_and_books(others)

        def is_there(other: int) -> bool:
            return other in books and other in products and products[other].can_be_bought

        # Generators: products are decoded only until a strip is full.
        looked = (
            Recommended(books[pk], products[pk], percent=percent) for pk, _, percent, _ in viewbuy if is_there(pk)
        )
        also = (Recommended(books[pk], products[pk], both=both) for pk, _, both in bought if is_there(pk))
        return RecommendationStrips(list(islice(looked, MAX_SHOWN)), list(islice(also, MAX_SHOWN)))


def get_recommendation_strips(book_id: int) -> RecommendationStrips:
    """Return the recommendations for a book. With warm mirrors it takes at most 2 round trips and no SQL."""
    record = RecommendationMirror.get(book_id)
    return NO_STRIPS if record is None else RecommendationRecord(record.raw).strips


def load_from_sql(book_id: int) -> RecommendationRecord | None:
    """Return the recommendations for a book from SQL; None if it has none."""
    with read_from_sql():
        record = RecommendationMirror.get(book_id)
    return None if record is None else RecommendationRecord(record.raw)
