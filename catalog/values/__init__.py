"""Values of a book's columns: ISBNs, languages, mean ratings and years of publication."""

from catalog.values.isbns import normalise_isbn

__all__ = ["normalise_isbn"]
