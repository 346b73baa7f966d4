"""A single book: its record, series, descriptions, extras of other applications; rows of books."""

from catalog.books import extras
from catalog.books.records import load_book_records
from catalog.books.rows import BookRows
from catalog.books.series import split_title

__all__ = [
    "BookRows",
    "extras",
    "load_book_records",
    "split_title",
]
