"""Split texts into comparable words: without case, marks and apostrophes, in any script."""

import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import regex
from opencc import OpenCC

from common.text import fold

MAX_WORD_LENGTH: Final = 40  # significant letters of a word
MAX_NAME_LENGTH: Final = 80  # significant letters of a whole name
ARTICLES: Final = frozenset({"a", "an", "the"})
_LOOKALIKES: Final = {
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "ـ": "",
    "'": "",
}
# Hiragana have the same order as katakana, 0x60 code points before them.
_KATAKANA: Final = range(0x30A1, 0x30F7)
_KATAKANA_TO_HIRAGANA: Final = -0x60
_HAN: Final = regex.compile(r"\p{Han}")


class _Spellings(dict[int, str]):
    """A table for ``str.translate`` with one spelling for letters that stand for each other. It is filled on demand.

    Traditional Chinese characters become simplified ones, and katakana become hiragana. Each character is converted by
    itself: the conversion of a phrase would depend on its neighbours, and a query has others than a title.
    """

    def __init__(self) -> None:
        super().__init__()
        self.update({ord(letter): spelling for letter, spelling in _LOOKALIKES.items()})
        self._simplify = OpenCC("t2s").convert

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if code in _KATAKANA:
            letter = chr(code + _KATAKANA_TO_HIRAGANA)
        elif _HAN.match(letter):
            letter = self._simplify(letter)
        return self.setdefault(code, letter)


_spellings: Final = _Spellings()
_WORD: Final = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# Scripts without blanks between words.
_UNSPACED: Final = regex.compile(r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー]+)")
_SERIES: Final = regex.compile(r"\s*\([^()]*\)\s*$")


def normalise(text: str) -> str:
    """Return ``text`` folded, without marks and apostrophes, in simplified Chinese and hiragana.

    >>> normalise("García Márquez’s 紅樓夢")
    'garcia marquezs 红楼梦'
    """
    # Decomposed, so that the marks are characters of their own and can be left out.
    decomposed = unicodedata.normalize("NFKD", fold(text))
    if decomposed.isascii():
        # It has no marks. An index asks for each name several times.
        return decomposed.translate(_spellings)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).translate(_spellings)


def split_runs(text: str) -> list[str]:
    """Return the runs of letters and digits of ``text``, whatever their script."""
    runs: list[str] = _WORD.findall(normalise(text))
    return runs


@lru_cache(maxsize=4096)
def split_words(text: str) -> tuple[str, ...]:
    """Return the words of ``text`` in order. Adjacent initials form one word; unspaced scripts form pairs of letters.

    >>> split_words("J.K. Rowling 哈利波特")
    ('jk', 'rowling', '哈利', '利波', '波特')
    """
    words: list[str] = []
    initials = ""
    for run in split_runs(text):
        if _is_initial(run):
            initials += run
            continue
        if initials:
            words.append(initials)
            initials = ""
        for part in _UNSPACED.split(run):
            words += _split_unspaced(part)
    if initials:
        words.append(initials)
    return tuple(words)


def _is_initial(run: str) -> bool:
    return len(run) == 1 and run.isascii() and run.isalpha()


def _split_unspaced(part: str) -> list[str]:
    """Return the pairs of adjacent letters of a part in an unspaced script, or else the part itself."""
    if len(part) > 2 and _UNSPACED.fullmatch(part):
        return [part[i : i + 2] for i in range(len(part) - 1)]
    # The parts around a separator of ``split`` may be empty.
    return [part[:MAX_WORD_LENGTH]] if part else []


def remove_articles(words: Iterable[str]) -> tuple[str, ...]:
    """Return ``words`` without articles, or all of them if all are articles."""
    every = tuple(words)
    return tuple(word for word in every if word not in ARTICLES) or every


def fold_plural(word: str) -> str:
    """Return the likely singular of an English plural. Other words are returned unchanged.

    >>> [fold_plural(word) for word in ("games", "stories", "witches", "glass", "1984")]
    ['game', 'story', 'witch', 'glass', '1984']
    """
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "zes")) else word[:-1]


def extract_terms(text: str) -> set[str]:
    """Return the search terms of ``text``: its words, their singulars, and the single letters of unspaced scripts."""
    found = set(remove_articles(split_words(text)))
    terms = found | {fold_plural(word) for word in found}
    # A query of one letter finds a title whose letters are stored in pairs.
    for run in _UNSPACED.findall(normalise(text)):
        terms |= set(run)
    return terms


def extract_all_terms(texts: Iterable[str]) -> set[str]:
    """Return the search terms of several texts."""
    found: set[str] = set()
    for text in texts:
        found |= extract_terms(text)
    return found


@lru_cache(maxsize=4096)
def join_words(text: str, *, articles: bool = False) -> str:
    """Return the words of ``text`` joined into one, to compare whole names in spite of misplaced blanks."""
    words = split_runs(text)
    return "".join(words if articles else remove_articles(words))[:MAX_NAME_LENGTH]


def split_title_names(title: str) -> Iterator[str]:
    """Yield a title, and the title without the series in brackets."""
    yield title
    if bare := _SERIES.sub("", title):
        yield bare


def shorten_title(title: str) -> str:
    """Return a title without series and subtitle."""
    return _SERIES.sub("", title).partition(": ")[0]
