"""The names under which a search finds a book: its title, its original title, and other spellings of both."""

from typing import NamedTuple

from catalog.search import words
from catalog.search.names.numbers import respell_numbers
from catalog.values.isbns import find_isbns


class BookNames(NamedTuple):
    """The names of a book. shorter: names without series and subtitle, which are no exact match."""

    full: tuple[str, ...]
    shorter: tuple[str, ...]


def collect_book_names(title: str, original_title: str, isbn: str) -> BookNames:
    """Return the names of a book, its ISBN included.

    Numbers are respelled in names without series, because the number of a volume is hardly ever typed as a word.
    """
    full = list(find_isbns(isbn))
    shorter: list[str] = []
    for text in filter(None, (title, original_title)):
        names = list(words.split_title_names(text))
        full += names
        full += respell_numbers(words.split_runs(names[-1]))
        short = words.shorten_title(text)
        if short:
            shorter.append(short)
            shorter += respell_numbers(words.split_runs(short))
    return BookNames(tuple(dict.fromkeys(full)), tuple(dict.fromkeys(shorter)))
