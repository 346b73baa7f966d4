"""The possible meanings of the words of a query: the words themselves, corrections, and completions of the last one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
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
    def spellings(self) -> list[str]:
        """The word itself and, if it is a plural, its singular."""
        singular = words.fold_plural(self.word)
        return [self.word] if singular == self.word else [self.word, singular]

    @property
    def exact_meanings(self) -> list[str]:
        """The meanings without a mistake: the word itself, its singular, and its completions."""
        return [word for word, mistakes in self.meanings.items() if not mistakes]

    @property
    def splits(self) -> list[tuple[str, str]]:
        """The ways to split the word by a blank."""
        last = len(self.word) - MIN_PART_LENGTH
        return [(self.word[:n], self.word[n:]) for n in range(MIN_PART_LENGTH, last + 1)]

    @property
    def vocabulary_keys(self) -> list[str]:
        """The lists of the vocabulary that contain possible meanings of the word."""
        keys = []
        if self.is_last and len(self.word) in entries.PREFIX_LENGTHS:
            keys.append(f"p:{self.word}")
        if len(self.word) >= entries.MIN_LENGTH_FOR_MISTAKE and not self.word.isdigit():
            keys += entries.build_near_keys(self.word)
        return keys


@dataclass
class SearchQuery:
    """A query in the form for look-ups. joined: pairs of words joined into one, with the numbers of the two words."""

    query_words: list[QueryWord]
    joined: dict[str, tuple[int, int]]
    joined_text: str  # all words joined, without articles
    joined_with_articles: str  # all words joined, with articles

    @property
    def corrected(self) -> str:
        """The query with its unknown words corrected; "" if there is nothing to correct, or no correction."""
        if any(not wanted.meanings for wanted in self.query_words):
            return ""
        text = " ".join(self.known_words)
        return "" if text == " ".join(wanted.word for wanted in self.query_words) else text

    @property
    def known_words(self) -> list[str]:
        """The words that the vocabulary has, or the likeliest corrections of them."""
        likeliest = [
            min(wanted.meanings, key=wanted.meanings.__getitem__) for wanted in self.query_words if wanted.meanings
        ]
        return list(dict.fromkeys(likeliest))

    @property
    def terms(self) -> list[str]:
        """The words to look up without corrections."""
        found: list[str] = []
        for wanted in self.query_words:
            found += wanted.spellings
        found += self.joined
        for wanted in self.query_words:
            found += chain.from_iterable(wanted.splits)
        return list(dict.fromkeys(found))

    @property
    def vocabulary_keys(self) -> list[str]:
        """The lists of the vocabulary that contain possible meanings of the words."""
        keys = chain.from_iterable(wanted.vocabulary_keys for wanted in self.query_words)
        return list(dict.fromkeys(keys))


def parse_query(text: str) -> SearchQuery:
    """Return ``text`` in the form for look-ups."""
    isbns = find_isbns(text)
    if isbns:
        return SearchQuery([QueryWord(isbns[0], is_last=True)], {}, isbns[0], isbns[0])
    found = list(dict.fromkeys(words.remove_articles(words.split_words(text))))[:MAX_WORDS]
    joined = {}
    for n, (one, two) in enumerate(pairwise(found)):
        joined[(one + two)[: words.MAX_WORD_LENGTH]] = (n, n + 1)
    wanted = [QueryWord(word, is_last=n == len(found) - 1) for n, word in enumerate(found)]
    return SearchQuery(wanted, joined, words.join_words(text), words.join_words(text, articles=True))


def add_meanings(query: SearchQuery, there: Mapping[str, int], near: Mapping[str, Sequence[Member]]) -> None:
    """Add the possible meanings of each word to the query.

    there: the weights of the existing words among the query's ``terms``. near: the members of its lists
    ``vocabulary_keys``.
    """
    query.joined = {word: pair for word, pair in query.joined.items() if word in there}
    for wanted in query.query_words:
        weights: dict[str, int] = {}
        for key in wanted.vocabulary_keys:
            weights.update(near.get(key, ()))
        wanted.parts = _find_likeliest_parts(wanted, there)
        wanted.meanings = _find_meanings(wanted, there, weights)


def _find_meanings(wanted: QueryWord, there: Mapping[str, int], weights: Mapping[str, int]) -> dict[str, int]:
    """Return the words that ``wanted`` may mean, each with the number of mistakes. weights: those of similar words."""
    known = [word for word in wanted.spellings if word in there]
    meanings = dict.fromkeys(known, 0)
    others = {word: weight for word, weight in weights.items() if word not in meanings}
    if wanted.is_last:
        for word in _find_completions(wanted.word, others):
            meanings[word] = 0
            del others[word]
    # A known word is corrected as well, because a mistake can make another word ("casual" for "causal").
    limit = MAX_CORRECTIONS_OF_KNOWN_WORD if known else MAX_CORRECTIONS
    for word, mistakes in _find_corrections(wanted.word, others)[:limit]:
        meanings[word] = mistakes
    return meanings


def _find_completions(start: str, weights: Mapping[str, int]) -> list[str]:
    """Return the heaviest words that begin with ``start``."""
    found = [word for word in weights if word.startswith(start)]
    found.sort(key=lambda word: (-weights[word], word))
    return found[:MAX_COMPLETIONS]


def _find_corrections(wanted: str, weights: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the words with few enough mistakes, and their numbers of mistakes, the likeliest word first."""
    most = 2 if len(wanted) >= entries.MIN_LENGTH_FOR_TWO_MISTAKES else 1
    found = []
    for word, weight in weights.items():
        mistakes = OSA.distance(wanted, word, score_cutoff=most)
        if mistakes <= most:
            found.append((mistakes, -weight, word))
    return [(word, mistakes) for mistakes, _, word in sorted(found)]


def _find_likeliest_parts(wanted: QueryWord, there: Mapping[str, int]) -> tuple[str, ...]:
    """Return the two likeliest words that ``wanted`` consists of if its blank is missing, without articles."""
    found = [words.remove_articles(halves) for halves in wanted.splits]
    known = [parts for parts in found if there.keys() >= set(parts)]

    def rank_parts(parts: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        # Two words are as likely as the rarer one.
        return min(there[part] for part in parts), parts

    return max(known, key=rank_parts, default=())
