"""Admin pages of the catalogue."""

from catalog.admin import authors, books, tags  # noqa: F401  (each registers its pages)
from catalog.shelves import admin as _shelves  # noqa: F401
