"""The arrangement of results: volumes of a series in order, and authors by fame."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from catalog.books.records import BookRecord
from catalog.books.series import parse_series
from catalog.search.ranking import Rank

MAX_AUTHORS_OF_BOOKS: Final = 3  # authors that are named because of their books

SeriesKey = tuple[int, str]  # the first author of a book, and the normalised name of a series


def put_volumes_in_order(ranked: Sequence[tuple[Rank, BookRecord]]) -> list[BookRecord]:
    """Return the books with the volumes of a series together and in order, at the place of the best of them.

    Only volumes of equal rank change places, so a book whose title was typed stays before the others.
    """
    volumes: dict[tuple[Rank, SeriesKey], list[tuple[float, int, BookRecord]]] = defaultdict(list)
    for rank, book in ranked:
        for place in _find_place(book):
            volumes[rank, place[0]].append((place[1], book["id"], book))
    found: dict[int, BookRecord] = {}
    for rank, book in ranked:
        for place in _find_place(book):
            for _, pk, volume in sorted(volumes[rank, place[0]], key=lambda one: one[:2]):
                found.setdefault(pk, volume)
        found.setdefault(book["id"], book)
    return list(found.values())


def _find_place(book: BookRecord) -> list[tuple[SeriesKey, float]]:
    """Return the first series of a book, and the number of its volume there, or nothing. Collections have no place."""
    series = parse_series(book["title"])
    if not series or not series[0].is_single or not book["author_ids"]:
        return []
    return [((book["author_ids"][0], series[0].normalised_name), series[0].first)]


def find_famous_authors(books: Iterable[BookRecord]) -> list[tuple[int, str]]:
    """Return the id and name of the first authors of these books, those with the most readers first."""
    readers: dict[tuple[int, str], int] = defaultdict(int)
    for book in books:
        for pk, name in list(zip(book["author_ids"], book["authors"], strict=True))[:1]:
            readers[pk, name] += book["popularity"]
    return sorted(readers, key=lambda author: (-readers[author], author))[:MAX_AUTHORS_OF_BOOKS]
