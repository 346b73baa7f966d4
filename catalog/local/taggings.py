"""The tags of books in the copy: the books with each tag, the tags of each book, and the facets of a result."""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from pyroaring import BitMap64

from catalog import query
from catalog.listing.answers import MAX_FACETS, TagCounts
from catalog.local import facets
from catalog.tags import similar

# Facets of small results are found by counting, those of larger results by threshold; both are exact. In measurements
# both cost the same at about 50 of 10,000 books and 450 of 100,000.
MIN_COUNTING_BOOKS, COUNTING_DIVISOR = 50, 200
EMPTY_BITMAP: Final = BitMap64()


class Taggings:
    """The books with each tag, and the tags of each book.

    sizes: minus the number of books with a tag, its name; the most frequent tags first.
    """

    def __init__(self, members: Mapping[str, Iterable[int]], tags_of: Mapping[int, Collection[str]]) -> None:
        """members: the books with each tag. tags_of: the same taggings as the tags of each book."""
        self.members = {name: BitMap64(pks) for name, pks in members.items()}
        self.tags_of = {pk: tuple(names) for pk, names in tags_of.items() if names}
        self.sizes = sorted((-len(books), name) for name, books in self.members.items())

    def find_books(self, name: str) -> BitMap64:
        """Return the books with a tag. The caller does not change the bitmap."""
        return self.members.get(name, EMPTY_BITMAP)

    def add(self, name: str, pk: int) -> None:
        """Add a tag to a book."""
        books = self.members.setdefault(name, BitMap64())
        if pk not in books:
            self._update_size(name, len(books), len(books) + 1)
            books.add(pk)
            self.tags_of[pk] = (*self.tags_of.get(pk, ()), name)

    def remove(self, name: str, pk: int) -> None:
        """Remove a tag from a book."""
        books = self.members.get(name, EMPTY_BITMAP)
        if pk not in books:
            return
        self._update_size(name, len(books), len(books) - 1)
        books.discard(pk)
        if not books:
            del self.members[name]
        left = tuple(other for other in self.tags_of[pk] if other != name)
        if left:
            self.tags_of[pk] = left
        else:
            del self.tags_of[pk]

    def _update_size(self, name: str, old: int, new: int) -> None:
        if old:
            del self.sizes[bisect_left(self.sizes, (-old, name))]
        if new:
            insort(self.sizes, (-new, name))

    def find_facets(self, books: BitMap64, without: Collection[str], book_count: int) -> TagCounts:
        """Return the most frequent tags of these books, most frequent first. book_count: the number of all books."""
        if len(books) <= max(MIN_COUNTING_BOOKS, book_count // COUNTING_DIVISOR):
            tags_of_books = (self.tags_of.get(pk, ()) for pk in books)
            return facets.find_facets_by_counting(tags_of_books, MAX_FACETS, without)
        return facets.find_facets_by_threshold(books, self.sizes, self.members, MAX_FACETS, without)

    def find_unknown(self, node: query.Node) -> list[tuple[str, TagCounts]]:
        """Return the first tags of a query that no book has, each with similar tags."""
        names = [name for name in query.find_terms_in_order(node) if name not in self.members]
        return [(name, self._find_similar(name)) for name in names[: similar.MAX_UNKNOWN_NAMES]]

    def _find_similar(self, name: str) -> TagCounts:
        counts = {}
        for text in similar.generate_variants(name):
            if text in self.members:
                counts[text] = len(self.members[text])
        return similar.pick_most_used(counts)
