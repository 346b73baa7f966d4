"""The results of a search as pages show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from catalog.books import extras
from catalog.books.records import BookRecord
from catalog.shelves.selectors import CardEntries

MAX_BOOKS: Final = 20  # books on a page


class NamedResult(NamedTuple):
    """An author, a tag or a reader in the results. weight: its popularity. others: names that find it as well."""

    id: int
    name: str
    weight: int = 0
    others: tuple[str, ...] = ()


def count_pages(matches: Sequence[int]) -> int:
    """Return the number of pages of the books that match."""
    return max(1, -(-len(matches) // MAX_BOOKS))


@dataclass(frozen=True)
class SearchResults:
    """A page of the results of a search, best first.

    books: those that match all words, followed on the first page by similar ones if there is room. card_values: the
    values of card extras for the books. entries: the books on the viewer's shelves; None: not logged in. is_wrong_isbn:
    the query is an ISBN with a wrong check digit. matches: the ids of all books that match all words, best first.
    similar: the ids of similar books. is_complete: whether ``matches`` has all books. known_words: the words of the
    query that the vocabulary has, or the likeliest corrections of them. corrected: the query with corrected words, if
    no book matches.
    """

    query: str
    books: list[BookRecord]
    authors: list[NamedResult]
    tags: list[NamedResult]
    readers: list[NamedResult]
    card_values: extras.CardValues = ()
    entries: CardEntries | None = None
    is_wrong_isbn: bool = False
    matches: Sequence[int] = ()
    similar: Sequence[int] = ()
    is_complete: bool = True
    page: int = 1
    known_words: Sequence[str] = ()
    corrected: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the search found nothing."""
        return not (self.books or self.authors or self.tags or self.readers)

    @property
    def count(self) -> int:
        """The number of books that match all words, on all pages."""
        return len(self.matches)

    @property
    def match_count(self) -> int:
        """The number of books on this page that match all words. The others are similar."""
        return len(self.books) - (len(self.similar) if self.page == 1 else 0)

    @property
    def page_count(self) -> int:
        """The number of pages."""
        return count_pages(self.matches)
