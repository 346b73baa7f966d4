"""The recommendations on a book's page: the stored rows without products that cannot be bought now."""

from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from catalog.listing import BookRecord
from mirror import registry
from mirror.read import RawRecord, ask_sql, get_encoder, read
from shop import keys
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
    reading = read(["recommendation"], lambda pipe: pipe.get(keys.recommendation(book_id)))
    if reading is None:
        record = ask_sql(["recommendation"], lambda: load_from_sql(book_id))
    else:
        record = decode_reply(reading.replies[0])
    return record.strips if record else NO_STRIPS


def decode_reply(raw: bytes | None) -> RecommendationRecord | None:
    """Decode Redis' reply; None means that there are no recommendations."""
    return None if raw is None else RecommendationRecord(raw)


def load_from_sql(book_id: int) -> RecommendationRecord | None:
    """Return the same record, byte for byte, from SQL."""
    declared = registry.get("recommendation")
    row = declared.load([str(book_id)]).get(str(book_id))
    return None if row is None else RecommendationRecord(get_encoder("recommendation")(declared.record(row)))
