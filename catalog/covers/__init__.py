"""Covers: the uploaded one of a book, or one that the site draws."""

from catalog.covers.designs import CLOTH_COUNT
from catalog.covers.shown import show_cover

__all__ = [
    "CLOTH_COUNT",
    "show_cover",
]
