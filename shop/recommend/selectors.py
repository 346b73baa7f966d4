"""What a book's page recommends: as the rows say, without what cannot be bought at this moment."""

from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple

from catalog.results import BookRecord
from mirror import registry
from mirror.raw import RawRecord
from mirror.read import read
from mirror.shapes import shape_of
from shop import keys
from shop.books import ask_books, books_by_sql, books_said
from shop.models import Recommendation
from shop.results import ProductRecord
from shop.selectors import products_by_sql

SHOWN: Final = 8  # of each kind
Found = dict[int, tuple[BookRecord, ProductRecord]]


class Recommended(NamedTuple):
    """A book that can be bought. percent: of those who looked bought it; both: so many bought both. One of the two."""

    book: BookRecord
    product: ProductRecord
    percent: int | None = None
    both: int | None = None


class Strips(NamedTuple):
    """viewbuy: bought after a look. bought: bought as well. The best first, SHOWN of each at most."""

    viewbuy: list[Recommended]
    bought: list[Recommended]


NOTHING: Final = Strips([], [])


class Recommendations(RawRecord):
    """The record ``rec:<id>``: id, bought, viewbuy. What of it is shown is asked for once, when it is needed."""

    __slots__ = ("__dict__",)

    @cached_property
    def strips(self) -> Strips:
        """What can be bought of it. From warm mirrors: 1 round trip and no SQL."""
        viewbuy, bought = self["viewbuy"], self["bought"]
        found = _to_be_had(list(dict.fromkeys(other for other, *_ in (*viewbuy, *bought))))
        looked = (Recommended(*found[other], percent=percent) for other, _, percent, _ in viewbuy if other in found)
        also = (Recommended(*found[other], both=both) for other, _, both in bought if other in found)
        return Strips(list(islice(looked, SHOWN)), list(islice(also, SHOWN)))


def _to_be_had(ids: list[int]) -> Found:
    """Those among these books that can be bought now."""
    if not ids:
        return {}

    def ask(pipe: Any) -> None:
        pipe.mget([keys.product(pk) for pk in ids])
        ask_books(pipe, ids)

    reading = read(["product", "book"], ask)
    if reading is None:
        products, books = products_by_sql(ids), books_by_sql(ids)
    else:
        raws, reply = reading.replies
        products = {pk: ProductRecord(raw) for pk, raw in zip(ids, raws, strict=True) if raw is not None}
        books = books_said(ids, reply)
    return {pk: (books[pk], product) for pk, product in products.items() if pk in books and product.can_be_bought}


def get_recommended(book_id: int) -> Strips:
    """What is recommended with a book. From warm mirrors: at most 2 round trips and no SQL."""
    reading = read(["recommendation"], lambda pipe: pipe.get(keys.recommendation(book_id)))
    record = by_sql(book_id) if reading is None else of_reply(reading.replies[0])
    return record.strips if record else NOTHING


def of_reply(raw: bytes | None) -> Recommendations | None:
    """What Redis answered; None: nothing is recommended."""
    return None if raw is None else Recommendations(raw)


def by_sql(book_id: int) -> Recommendations | None:
    """The same bytes, from SQL."""
    declared = registry.get("recommendation")
    row = Recommendation.objects.filter(pk=book_id).first()
    return None if row is None else Recommendations(shape_of(declared).encode(declared.record(row)))
