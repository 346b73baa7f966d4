"""A single book: its record, series, descriptions, and extras of other applications."""

from catalog.books import extras
from catalog.books.records import load_book_records
from catalog.books.series import split_title

__all__ = [
    "extras",
    "load_book_records",
    "split_title",
]
