"""Recommendations for a reader, each with its reason: a book that the reader liked."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from catalog.listing import BookRecord
from catalog.shelves.selectors import find_entries
from mirror import together
from shop.mirrors import RecommendationMirror
from shop.products.results import ProductRecord
from shop.selectors.products import get_products_and_books

MAX_LIKED: Final = 8  # liked books whose recommendations are read
MAX_CANDIDATES: Final = 16  # recommendations of a liked book that are looked up
MAX_SOURCES: Final = 3  # liked books with recommendations that are looked up


class PricedBook(NamedTuple):
    """A book, and its product if it has one."""

    book: BookRecord
    product: ProductRecord | None


class Reason(NamedTuple):
    """A book that the reader liked, and books that others bought with it, best first."""

    liked: BookRecord
    books: Sequence[PricedBook]


def recommend_by_books(user_id: int, liked: Sequence[BookRecord]) -> list[Reason]:
    """Return recommendations for a reader who likes these books, without books on the reader's shelves. A book may have
    several reasons.

    From warm mirrors: 2 round trips and no SQL.
    """
    sources = {book["id"]: book for book in liked[:MAX_LIKED]}
    rankings: dict[int, list[int]] = {}
    for pk, record in RecommendationMirror.get_many(list(sources)).items():
        others = [other for other, *_ in (*record["bought"], *record["viewbuy"])]
        if others and len(rankings) < MAX_SOURCES:
            rankings[pk] = list(dict.fromkeys(others))[:MAX_CANDIDATES]
    ids = list(dict.fromkeys(other for others in rankings.values() for other in others))
    left = {found.book["id"]: found for found in find_unshelved(user_id, ids)}
    return [Reason(sources[pk], [left[other] for other in others if other in left]) for pk, others in rankings.items()]


def find_unshelved(user_id: int, ids: Sequence[int]) -> list[PricedBook]:
    """Return the books with these ids that are on none of the reader's shelves, in this order.

    From warm mirrors: 1 round trip and no SQL.
    """
    with together() as reads:
        entries = reads(find_entries, user_id, ids)
        found = reads(get_products_and_books, ids)
    products, books = found.value
    free = [pk for pk, entry in zip(ids, entries.value, strict=True) if entry is None and pk in books]
    return [PricedBook(books[pk], products.get(pk)) for pk in free]
