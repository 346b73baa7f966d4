"""Values of a book's columns: ISBNs, years of publication, mean ratings."""

from catalog.values.isbns import normalise_isbn

__all__ = ["normalise_isbn"]
