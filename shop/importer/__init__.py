"""Read the goodbooks-10k files as the history of a shop.

A book that a reader wants to read becomes a view; a rated book becomes a purchase.

synthetic    prices, stock and times: made up, but equal in every run
files        to_read.csv and ratings.csv, with tolerance for bad rows
products     a product for each book
history      readers, views, orders and shelves
bulk         inserts many rows of a model in one statement

The import only adds missing rows, in slices, while the site runs. An interrupted import can be continued.
"""

from shop.importer import synthetic
from shop.importer.bulk import bulk_insert

__all__ = [
    "bulk_insert",
    "synthetic",
]
