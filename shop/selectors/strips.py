"""The rows of books on the front page that do not follow from a reader's shelves."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from catalog.listing import BookRecord
from catalog.shelves.selectors import find_entries
from mirror import together
from shop.book_views import popularity, visits
from shop.selectors.sales import SaleView, get_sales

MAX_BOOKS: Final = 8  # per row, on wide screens
MAX_READ: Final = 2 * MAX_BOOKS  # per row: some stand in rows above


class Strips(NamedTuple):
    """What the rows are filled from. sale: the current one that ends first, or the next coming one, if any.

    viewed: the visitor's last viewed books, the latest first. shelved: by id, the books of all rows that are on the
    reader's shelves.
    """

    sale: SaleView | None
    popular: popularity.PopularBooks
    viewed: Sequence[BookRecord]
    shelved: Mapping[int, Mapping[str, Any]]


def find_strips(user_id: int | None, digest: str | None) -> Strips:
    """Return the rows for a visitor. digest: of the session, if there is one.

    From warm mirrors: 4 round trips, 1 more for a logged-in reader, and no SQL.
    """
    with together() as reads:
        sales = reads(get_sales)
        popular = reads(popularity.get_popular_books, MAX_READ)
        viewed = reads(visits.get_last_viewed, digest, MAX_READ)
    sale = next((each for each in sales.value if each.is_on), None)
    sale = sale or min(sales.value, key=lambda each: each.starts, default=None)
    # A row shows some of them, without the books of the rows above it.
    ids = dict.fromkeys(offer.id for offer in (sale.offers if sale else []))
    ids.update(dict.fromkeys(book["id"] for book in (*popular.value.books, *viewed.value)))
    return Strips(sale, popular.value, viewed.value, find_shelved(user_id, list(ids)))


def find_shelved(user_id: int | None, book_ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """Return the entries of those of these books that are on the reader's shelves, by book.

    From a warm mirror: 1 round trip and no SQL, none for a visitor without a login.
    """
    if user_id is None:
        return {}
    entries = find_entries(user_id, book_ids)
    return {pk: entry for pk, entry in zip(book_ids, entries, strict=True) if entry is not None}
