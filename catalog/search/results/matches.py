"""All books that have each word of a query without a mistake, from the lists of these words."""

from collections.abc import Mapping, Sequence

from catalog.search.corrections import SearchQuery
from catalog.search.lists import Member

Lists = Mapping[str, Sequence[Member]]


def list_keys_of_matches(query: SearchQuery) -> list[str]:
    """Return the lists of books of all words without a mistake."""
    found: list[str] = []
    for wanted in query.query_words:
        for word in wanted.exact_meanings:
            found += [f"b:{word}", f"g:{word}"]
        found += [f"b:{part}" for part in wanted.parts]
    for word in query.joined:
        found += [f"b:{word}", f"g:{word}"]
    return found


def find_matches(query: SearchQuery, found: Lists) -> list[str]:
    """Return the books that have each word of the query without a mistake, heaviest first, then by their bytes."""
    weights: dict[str, int] = {}
    for key in list_keys_of_matches(query):
        weights.update(found.get(key, ()))
    # Sets of the members of lists, one for each word.
    books = [_find_books_of_word(wanted.exact_meanings, wanted.parts, found) for wanted in query.query_words]
    for word, numbers in query.joined.items():
        for number in numbers:
            books[number] |= _unite(found, (f"b:{word}", f"g:{word}"))
    matching = set.intersection(*books) if books else set()
    return sorted(matching, key=lambda member: (-weights[member], member))


def _find_books_of_word(meanings: Sequence[str], parts: Sequence[str], found: Lists) -> set[str]:
    books: set[str] = set()
    for word in meanings:
        books |= _unite(found, (f"b:{word}", f"g:{word}"))
    if parts:
        books |= set.intersection(*(_unite(found, [f"b:{part}"]) for part in parts))
    return books


def _unite(found: Lists, names: Sequence[str]) -> set[str]:
    books: set[str] = set()
    for name in names:
        books.update(member for member, _ in found.get(name, ()))
    return books
