"""Views of book pages: counting, popularity with exponential decay, and retention."""

from shop.book_views import popularity

__all__ = [
    "popularity",
]
