"""Lists of books: filters, sort orders, cursors, and the answers to queries from Redis or SQL."""

from catalog.books.records import BookRecord
from catalog.listing import filters, sorts
from catalog.listing.results import BookList

__all__ = [
    "BookList",
    "BookRecord",
    "filters",
    "sorts",
]
