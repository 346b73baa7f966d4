"""What the words of a query may mean: themselves, words that are one mistake away, words that begin like the last."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from rapidfuzz.distance import OSA

from catalog.search import entries, words
from catalog.search.lists import Member

SHORTEST_PART: Final = 3  # letters of a part of a word that lacks a blank
MOST_WORDS: Final = 10  # of a query that are looked up
BEGUN: Final = 8  # words that begin like the last one
GUESSES: Final = 4  # words that are meant by a mistake, where the word itself is none
GUESSES_BESIDE: Final = 2  # the same, where the word itself is known


@dataclass
class Wanted:
    """A word of the query. meanings: words of the vocabulary, each with the number of mistakes. parts: what it may be
    made of, where a blank is missing.
    """

    word: str
    is_last: bool = False
    meanings: dict[str, int] = field(default_factory=dict)
    parts: tuple[str, ...] = ()

    @property
    def halves(self) -> Iterable[tuple[str, str]]:
        """The ways to part it by a blank."""
        return ((self.word[:n], self.word[n:]) for n in range(SHORTEST_PART, len(self.word) - SHORTEST_PART + 1))


@dataclass
class Query:
    """A query as it is looked up. joined: words that were perhaps torn apart, by the numbers of the two words."""

    wanted: list[Wanted]
    joined: dict[str, tuple[int, int]]
    whole: str  # all words as one, without articles
    exactly: str  # and with them

    @property
    def terms(self) -> list[str]:
        """The words that are looked up as they are."""
        own = (word for wanted in self.wanted for word in (wanted.word, words.fold_plural(wanted.word)))
        parts = (part for wanted in self.wanted for halves in wanted.halves for part in halves)
        return list(dict.fromkeys((*own, *self.joined, *parts)))

    @property
    def vocabulary(self) -> list[str]:
        """The lists of the vocabulary that have what the words may mean."""
        keys = [key for wanted in self.wanted for key in self._keys(wanted)]
        return list(dict.fromkeys(keys))

    def _keys(self, wanted: Wanted) -> Iterable[str]:
        word = wanted.word
        if wanted.is_last and len(word) in entries.PREFIXES:
            yield f"p:{word}"
        if len(word) >= entries.SHORTEST and not word.isdigit():
            yield from entries.near_keys(word)


def read_query(text: str) -> Query:
    """Return ``text`` as it is looked up."""
    found = list(dict.fromkeys(words.without_articles(words.split_words(text))))[:MOST_WORDS]
    pairs = {(one + two)[: words.LONGEST]: (n, n + 1) for n, (one, two) in enumerate(pairwise(found))}
    whole, exactly = words.joined(text), words.joined(text, articles=True)
    if isbns := words.isbns(text):
        found, pairs, whole, exactly = isbns[:1], {}, isbns[0], isbns[0]
    wanted = [Wanted(word, is_last=n == len(found) - 1) for n, word in enumerate(found)]
    return Query(wanted, pairs, whole, exactly)


def add_meanings(query: Query, there: Mapping[str, int], near: Mapping[str, Sequence[Member]]) -> None:
    """Note what each word may mean: ``there`` are the words of the vocabulary that were asked for, with their weights,
    and ``near`` its lists.
    """
    query.joined = {word: pair for word, pair in query.joined.items() if word in there}
    for wanted in query.wanted:
        wanted.parts = _likeliest_parts(wanted, there)
        own = [word for word in dict.fromkeys((wanted.word, words.fold_plural(wanted.word))) if word in there]
        wanted.meanings = dict.fromkeys(own, 0)
        weights = dict(member for key in query._keys(wanted) for member in near.get(key, ()))
        if wanted.is_last:
            begun = [word for word in weights if word.startswith(wanted.word) and word not in wanted.meanings]
            begun.sort(key=lambda word: (-weights[word], word))
            wanted.meanings |= dict.fromkeys(begun[:BEGUN], 0)
        most = 2 if len(wanted.word) >= entries.LONG else 1
        mistakes = {
            word: distance
            for word in weights
            if word not in wanted.meanings and (distance := OSA.distance(wanted.word, word, score_cutoff=most)) <= most
        }
        likely = sorted(mistakes, key=lambda word: (mistakes[word], -weights[word], word))
        wanted.meanings |= {word: mistakes[word] for word in likely[: GUESSES_BESIDE if own else GUESSES]}


def _likeliest_parts(wanted: Wanted, there: Mapping[str, int]) -> tuple[str, ...]:
    """The two words that a word is made of, if its blank is missing; without an article among them."""
    found = [words.without_articles(halves) for halves in wanted.halves]
    known = [parts for parts in found if all(part in there for part in parts)]
    return max(known, key=lambda parts: (min(there[part] for part in parts), parts), default=())
