"""The index, defined once: which sorted lists a document and a term are on. SQL and Redis keep the same lists.

A list has a key, and members by weight (heaviest first), then by their bytes:

    b: g:      books by a word of title, author or ISBN; by a tag (written as one word)
    a: t: r:   authors, tags, readers by a word
    =:         whatever has this whole name
    <: >:      whatever has a whole name of this length and this half: a name with one mistake has one half right
    n: s:      words by how they begin and end, in full and with one letter left out (the vocabulary)
    p:         words by their first letters
"""

from collections.abc import Iterable, Iterator
from typing import Final

from catalog.search import words

WORD_LISTS: Final = "bgatr"  # lists whose keys end in a word
HALF: Final = 40  # letters of half a name that count
BEGINNING: Final = 7  # letters by which a word is looked up
LONG: Final = 8  # letters of a word in which there may be two mistakes
SHORTEST: Final = 3  # letters of a word in which there may be one
LONGEST_NUMBER: Final = 8  # digits; a longer number (an ISBN) is not guessed
PREFIXES: Final = range(2, BEGINNING)


def word_keys(kind: str, found: Iterable[str]) -> Iterator[str]:
    """The lists of a document with these words."""
    return (f"{kind}:{word[: words.LONGEST]}" for word in found)


def name_keys(names: Iterable[str]) -> Iterator[str]:
    """The lists of a document with these whole names."""
    for name in names:
        if whole := words.joined(name):
            yield f"=:{whole}"
            yield from half_keys(words.joined(name, articles=True))


def half_keys(whole: str, length: int | None = None) -> list[str]:
    """The lists of names that are ``whole`` but for one half; ``length``: of the names."""
    length = len(whole) if length is None else length
    first = length // 2
    if not first:
        return []
    return [f"<:{length}:{whole[:first][:HALF]}", f">:{length}:{whole[first - length :][-HALF:]}"]


def term_of(key: str) -> str | None:
    """The word of a list of documents; None for lists of whole names."""
    return key[2:] if key[0] in WORD_LISTS else None


def is_of_documents(key: str) -> bool:
    """Whether the members of a list are documents, and not words."""
    return key[0] not in "nsp"


def term_keys(term: str) -> set[str]:
    """The lists by which a word of the vocabulary is found."""
    if len(term) < SHORTEST or (term.isdigit() and len(term) > LONGEST_NUMBER):
        return set()
    return {*near_keys(term), *(f"p:{term[:n]}" for n in PREFIXES if n < len(term))}


def near_keys(word: str) -> list[str]:
    """The lists that words with at most one other letter than ``word`` share with it; of long words, two."""
    keys = [f"n:{part}" for part in _cut_short(word[:BEGINNING])]
    return keys + [f"s:{part}" for part in _cut_short(word[-BEGINNING:])] if len(word) >= LONG else keys


def _cut_short(part: str) -> Iterable[str]:
    return dict.fromkeys((part, *(part[:i] + part[i + 1 :] for i in range(len(part)))))
