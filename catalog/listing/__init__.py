"""Lists of books: filters, sort orders, cursors, and the answers to queries from Redis or SQL."""

from catalog.listing import filters, sorts
from catalog.listing.results import BookRecord

__all__ = [
    "BookRecord",
    "filters",
    "sorts",
]
