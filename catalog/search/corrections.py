"""The possible meanings of the words of a query: the words themselves, corrections, and completions of the last one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from rapidfuzz.distance import OSA

from catalog.search import entries, words
from catalog.search.lists import Member
from catalog.values.isbns import find_isbns

MIN_PART_LENGTH: Final = 3  # letters of each part of a word with a missing blank
MAX_WORDS: Final = 10  # of a query; the rest is ignored
MAX_COMPLETIONS: Final = 8  # completions of the last word
MAX_CORRECTIONS: Final = 4  # corrections of an unknown word
MAX_CORRECTIONS_OF_KNOWN_WORD: Final = 2  # corrections of a known word


@dataclass
class QueryWord:
    """A word of the query.

    meanings: words of the vocabulary, each with the number of mistakes. parts: the two words that it consists of if a
    blank is missing.
    """

    word: str
    is_last: bool = False
    meanings: dict[str, int] = field(default_factory=dict)
    parts: tuple[str, ...] = ()

    @property
    def splits(self) -> Iterable[tuple[str, str]]:
        """The ways to split the word by a blank."""
        return ((self.word[:n], self.word[n:]) for n in range(MIN_PART_LENGTH, len(self.word) - MIN_PART_LENGTH + 1))


@dataclass
class SearchQuery:
    """A query in the form for look-ups. joined: pairs of words joined into one, with the numbers of the two words."""

    query_words: list[QueryWord]
    joined: dict[str, tuple[int, int]]
    joined_text: str  # all words joined, without articles
    joined_with_articles: str  # all words joined, with articles

    @property
    def terms(self) -> list[str]:
        """The words to look up without corrections."""
        own = (word for wanted in self.query_words for word in (wanted.word, words.fold_plural(wanted.word)))
        parts = (part for wanted in self.query_words for halves in wanted.splits for part in halves)
        return list(dict.fromkeys((*own, *self.joined, *parts)))

    @property
    def vocabulary_keys(self) -> list[str]:
        """The lists of the vocabulary that contain possible meanings of the words."""
        keys = [key for wanted in self.query_words for key in self._keys(wanted)]
        return list(dict.fromkeys(keys))

    def _keys(self, wanted: QueryWord) -> Iterable[str]:
        word = wanted.word
        if wanted.is_last and len(word) in entries.PREFIX_LENGTHS:
            yield f"p:{word}"
        if len(word) >= entries.MIN_LENGTH_FOR_MISTAKE and not word.isdigit():
            yield from entries.build_near_keys(word)


def parse_query(text: str) -> SearchQuery:
    """Return ``text`` in the form for look-ups."""
    found = list(dict.fromkeys(words.remove_articles(words.split_words(text))))[:MAX_WORDS]
    pairs = {(one + two)[: words.MAX_WORD_LENGTH]: (n, n + 1) for n, (one, two) in enumerate(pairwise(found))}
    whole, exactly = words.join_words(text), words.join_words(text, articles=True)
    if isbns := find_isbns(text):
        found, pairs, whole, exactly = isbns[:1], {}, isbns[0], isbns[0]
    wanted = [QueryWord(word, is_last=n == len(found) - 1) for n, word in enumerate(found)]
    return SearchQuery(wanted, pairs, whole, exactly)


def add_meanings(query: SearchQuery, there: Mapping[str, int], near: Mapping[str, Sequence[Member]]) -> None:
    """Add the possible meanings of each word to the query.

    there: the weights of the existing words among the query's ``terms``. near: the members of its lists
    ``vocabulary_keys``.
    """
    query.joined = {word: pair for word, pair in query.joined.items() if word in there}
    for wanted in query.query_words:
        wanted.parts = _find_likeliest_parts(wanted, there)
        own = [word for word in dict.fromkeys((wanted.word, words.fold_plural(wanted.word))) if word in there]
        wanted.meanings = dict.fromkeys(own, 0)
        weights = dict(member for key in query._keys(wanted) for member in near.get(key, ()))
        if wanted.is_last:
            begun = [word for word in weights if word.startswith(wanted.word) and word not in wanted.meanings]
            begun.sort(key=lambda word: (-weights[word], word))
            wanted.meanings |= dict.fromkeys(begun[:MAX_COMPLETIONS], 0)
        most = 2 if len(wanted.word) >= entries.MIN_LENGTH_FOR_TWO_MISTAKES else 1
        mistakes = {
            word: distance
            for word in weights
            if word not in wanted.meanings and (distance := OSA.distance(wanted.word, word, score_cutoff=most)) <= most
        }
        likely = sorted(mistakes, key=lambda word: (mistakes[word], -weights[word], word))
        wanted.meanings |= {
            word: mistakes[word] for word in likely[: MAX_CORRECTIONS_OF_KNOWN_WORD if own else MAX_CORRECTIONS]
        }


def _find_likeliest_parts(wanted: QueryWord, there: Mapping[str, int]) -> tuple[str, ...]:
    """Return the two likeliest words that ``wanted`` consists of if its blank is missing, without articles."""
    found = [words.remove_articles(halves) for halves in wanted.splits]
    known = [parts for parts in found if all(part in there for part in parts)]
    return max(known, key=lambda parts: (min(there[part] for part in parts), parts), default=())
