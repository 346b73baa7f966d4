"""Books in the order of a list of ids."""

from collections.abc import Iterable, Mapping

from catalog.listing import BookRecord


def order_books(ids: Iterable[int], found: Mapping[int, BookRecord]) -> list[BookRecord]:
    """Return the found books in the order of ``ids``."""
    return [found[pk] for pk in ids if pk in found]
