"""The definition of the index: the sorted lists that contain a document or a term, the same in SQL and in Redis.

A list has a key, and members sorted by weight (heaviest first), then by their bytes:

    b: g:      books by a word of title, author or ISBN; by a tag (written as one word)
    a: t: r:   authors, tags, readers by a word
    =:         documents with this whole name
    ^:         documents with a whole name that begins with these one to four letters
    <: >:      documents with a whole name of this length and this half: a name with one mistake has one half right
    n: s:      words by their beginning and end, in full and with one letter removed (the vocabulary)
    p:         words by their first letters
"""

from collections.abc import Iterable, Iterator
from typing import Final

from catalog.search import words

WORD_LISTS: Final = "bgatr"  # lists with keys that end in a word
MAX_HALF_LENGTH: Final = 40  # significant letters of half a name
LOOKUP_LENGTH: Final = 7  # letters for the look-up of a word
MIN_LENGTH_FOR_TWO_MISTAKES: Final = 8  # letters of a word that may have two mistakes
MIN_LENGTH_FOR_MISTAKE: Final = 3  # letters of a word that may have one mistake
MAX_NUMBER_LENGTH: Final = 8  # digits of a number that may have mistakes; an ISBN is longer
PREFIX_LENGTHS: Final = range(2, LOOKUP_LENGTH)
MAX_TEXT_LENGTH: Final = 330  # characters of a document's text, which is a part of its members in the lists
NAME_SEPARATOR: Final = "\x1f"  # between the names in a document's text
START_LENGTHS: Final = range(1, 5)  # letters at the start of a name; longer queries are rarer and find it by its words


def build_word_keys(kind: str, found: Iterable[str]) -> Iterator[str]:
    """Return the lists of a document with these words."""
    return (f"{kind}:{word[: words.MAX_WORD_LENGTH]}" for word in found)


def build_name_keys(names: Iterable[str]) -> Iterator[str]:
    """Return the lists of a document with these whole names."""
    for name in names:
        whole = words.join_words(name)
        if not whole:
            continue
        yield f"=:{whole}"
        for n in START_LENGTHS[: len(whole)]:
            yield f"^:{whole[:n]}"
        # With articles, as the halves that ``finding`` looks up. "=" and "^" have none.
        yield from build_half_keys(words.join_words(name, articles=True))


def build_named_keys(kind: str, name: str) -> list[str]:
    """Return the lists of a document that is found by its name alone."""
    keys = list(build_word_keys(kind, words.extract_terms(name)))
    keys += build_name_keys([name])
    return keys


def join_names(names: Iterable[str]) -> str:
    """Return the text of a document with several names, the shown one first. Names that are too much are left out."""
    text, *others = names
    for name in others:
        longer = f"{text}{NAME_SEPARATOR}{name}"
        if len(longer) <= MAX_TEXT_LENGTH:
            text = longer
    return text


def split_names(text: str) -> list[str]:
    """Return the names in the text of a document."""
    return text.split(NAME_SEPARATOR)


def build_half_keys(whole: str, length: int | None = None) -> list[str]:
    """Return the lists of names that share one half with ``whole``. length: the number of letters of the names."""
    length = len(whole) if length is None else length
    first = length // 2
    if not first:
        return []
    return [f"<:{length}:{whole[:first][:MAX_HALF_LENGTH]}", f">:{length}:{whole[first - length :][-MAX_HALF_LENGTH:]}"]


def parse_term(key: str) -> str | None:
    """Return the word of a list of documents, or None for lists of whole names."""
    return key[2:] if key[0] in WORD_LISTS else None


def is_document_list(key: str) -> bool:
    """Return whether the members of a list are documents, and not words."""
    return key[0] not in "nsp"


def build_term_keys(term: str) -> set[str]:
    """Return the lists through which a search finds a word of the vocabulary."""
    if len(term) < MIN_LENGTH_FOR_MISTAKE or (term.isdigit() and len(term) > MAX_NUMBER_LENGTH):
        return set()
    keys = set(build_near_keys(term))
    for n in PREFIX_LENGTHS:
        # Not the whole word, which a search looks up by itself.
        if n < len(term):
            keys.add(f"p:{term[:n]}")
    return keys


def build_near_keys(word: str) -> list[str]:
    """Return the lists that ``word`` shares with words one mistake away, or two mistakes away from a long word."""
    keys = [f"n:{part}" for part in _remove_single_letters(word[:LOOKUP_LENGTH])]
    # The end of a long word still finds it if both mistakes are at its start.
    if len(word) >= MIN_LENGTH_FOR_TWO_MISTAKES:
        keys += [f"s:{part}" for part in _remove_single_letters(word[-LOOKUP_LENGTH:])]
    return keys


def _remove_single_letters(part: str) -> Iterable[str]:
    """Return the distinct forms of a part: itself, and without one of its letters."""
    forms = [part]
    forms += [part[:i] + part[i + 1 :] for i in range(len(part))]
    return dict.fromkeys(forms)
