"""A single book: its record, cover, series, descriptions, and extras of other applications."""

from catalog.books import covers, extras
from catalog.books.records import load_book_records
from catalog.books.series import split_title

__all__ = [
    "covers",
    "extras",
    "load_book_records",
    "split_title",
]
