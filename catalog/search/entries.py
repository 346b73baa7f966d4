"""The definition of the index: the sorted lists that contain a document or a term, the same in SQL and in Redis.

A list has a key, and members sorted by weight (heaviest first), then by their bytes:

    b: g:      books by a word of title, author or ISBN; by a tag (written as one word)
    a: t: r:   authors, tags, readers by a word
    =:         documents with this whole name
    <: >:      documents with a whole name of this length and this half: a name with one mistake has one half right
    n: s:      words by their beginning and end, in full and with one letter removed (the vocabulary)
    p:         words by their first letters
"""

from collections.abc import Iterable, Iterator
from typing import Final

from catalog.search import words

WORD_LISTS: Final = "bgatr"  # lists with keys that end in a word
HALF: Final = 40  # significant letters of half a name
BEGINNING: Final = 7  # letters for the look-up of a word
LONG: Final = 8  # letters of a word that may have two mistakes
SHORTEST: Final = 3  # letters of a word that may have one mistake
LONGEST_NUMBER: Final = 8  # digits of a number that may have mistakes; an ISBN is longer
PREFIXES: Final = range(2, BEGINNING)


def word_keys(kind: str, found: Iterable[str]) -> Iterator[str]:
    """Return the lists of a document with these words."""
    return (f"{kind}:{word[: words.LONGEST]}" for word in found)


def name_keys(names: Iterable[str]) -> Iterator[str]:
    """Return the lists of a document with these whole names."""
    for name in names:
        if whole := words.joined(name):
            yield f"=:{whole}"
            yield from half_keys(words.joined(name, articles=True))


def half_keys(whole: str, length: int | None = None) -> list[str]:
    """Return the lists of names that share one half with ``whole``. length: the number of letters of the names."""
    length = len(whole) if length is None else length
    first = length // 2
    if not first:
        return []
    return [f"<:{length}:{whole[:first][:HALF]}", f">:{length}:{whole[first - length :][-HALF:]}"]


def term_of(key: str) -> str | None:
    """Return the word of a list of documents, or None for lists of whole names."""
    return key[2:] if key[0] in WORD_LISTS else None


def is_of_documents(key: str) -> bool:
    """Return whether the members of a list are documents, and not words."""
    return key[0] not in "nsp"


def term_keys(term: str) -> set[str]:
    """Return the lists through which a search finds a word of the vocabulary."""
    if len(term) < SHORTEST or (term.isdigit() and len(term) > LONGEST_NUMBER):
        return set()
    return {*near_keys(term), *(f"p:{term[:n]}" for n in PREFIXES if n < len(term))}


def near_keys(word: str) -> list[str]:
    """Return the lists that ``word`` shares with words one mistake away, or two mistakes away from a long word."""
    keys = [f"n:{part}" for part in _cut_short(word[:BEGINNING])]
    return keys + [f"s:{part}" for part in _cut_short(word[-BEGINNING:])] if len(word) >= LONG else keys


def _cut_short(part: str) -> Iterable[str]:
    return dict.fromkeys((part, *(part[:i] + part[i + 1 :] for i in range(len(part)))))
