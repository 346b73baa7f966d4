"""The order of results. It is the same for Redis and SQL, which only supply candidates.

1. Exact: the query is the name (of a book also without series, the original title, or one of them with its numbers in
   digits or in words), or the ISBN. Names that differ in their articles come
   after the others. "A" counts as an article, so this is also the order of Thomas A. Harris and Thomas Harris.
2. Prefix: the name begins with the query, or the query is a title without its subtitle.
3. All words: each word occurs in the name, in an author's name or in the series, in any order. Plurals count as their
   singulars. If the last word is unfinished, as "sea" in "Search", names that begin with the query come first, but
   after names with the whole word.
4. All words, with tags: like 3, but some words occur only in the tags.
5. Fuzzy: first names that differ from the query in one letter (two in names of twelve or more) or a blank; then by the
   number of missing words; then by the number of mistakes in the other words.

Within each rule, more popular results come first (books: number of ratings; authors: that of their most read book;
tags: number of books), then older rows of the catalogue. A result must contain one of the words without a mistake, or
most of them with mistakes.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from rapidfuzz.distance import OSA

from catalog.search import words
from catalog.search.corrections import QueryWord, SearchQuery

EXACT: Final = 0
PREFIX: Final = 1
ALL_WORDS: Final = 2
WITH_TAGS: Final = 3
FUZZY: Final = 4
MIN_LENGTH_FOR_TWO_MISTAKES: Final = 12  # letters of a name that may have two mistakes

# The rule. For the first: articles. For all words: an unfinished word, another beginning. For the last: name, missing
# words, mistakes.
Rank = tuple[int, int, int, int]


class DocumentTexts(NamedTuple):
    """The texts of a document for comparisons.

    full_names: its names. names: the names and their shorter forms. names_with_articles: ``names`` with articles.
    terms: its words. tags: its tags, each with joined words.
    """

    full_names: frozenset[str]
    names: frozenset[str]
    names_with_articles: frozenset[str]
    terms: frozenset[str]
    tags: frozenset[str] = frozenset()


@lru_cache(maxsize=8192)
def collect_texts(
    names: tuple[str, ...], others: tuple[str, ...] = (), tags: tuple[str, ...] = (), shorter: tuple[str, ...] = ()
) -> DocumentTexts:
    """Return the texts for comparisons from names, other searchable texts, tags, and shorter forms of the names."""
    every_name = names + shorter
    return DocumentTexts(
        full_names=frozenset(map(words.join_words, names)),
        names=frozenset(map(words.join_words, every_name)),
        names_with_articles=frozenset(words.join_words(name, articles=True) for name in every_name),
        terms=frozenset(words.extract_all_terms(names + others)),
        tags=frozenset(map(words.join_words, tags)),
    )


def rank_document(query: SearchQuery, texts: DocumentTexts) -> Rank | None:
    """Return the rank of a document, smaller ranks first, or None if it does not match."""
    if query.joined_text in texts.full_names:
        return EXACT, query.joined_with_articles not in texts.names_with_articles, 0, 0
    begins_name, is_finished = _begins_name(query, texts), _has_last_word(query, texts)
    if begins_name and is_finished:
        return PREFIX, 0, 0, 0
    named, tagged = _count_mistakes(query, texts.terms), _count_mistakes(query, texts.tags)
    if begins_name or not any(named):
        return ALL_WORDS, not is_finished, not begins_name, 0
    best = list(map(min, named, tagged))
    if not any(best):
        return WITH_TAGS, 0, 0, 0
    found = [mistakes for mistakes in best if mistakes != MISSING_WORD]
    missing = len(best) - len(found)
    is_near = _is_near_name(query, texts)
    finds_most_words = 0 in found or missing * 2 < len(best)
    if not is_near and not finds_most_words:
        return None
    return FUZZY, not is_near, missing, sum(found)


MISSING_WORD: Final = 9  # stands for a number of mistakes


def _begins_name(query: SearchQuery, texts: DocumentTexts) -> bool:
    """Return whether a name begins with the query, with or without the articles of both."""
    if _begins_any(query.joined_text, texts.names):
        return True
    return _begins_any(query.joined_with_articles, texts.names_with_articles)


def _has_last_word(query: SearchQuery, texts: DocumentTexts) -> bool:
    """Return whether the last word of the query is a whole word of the document."""
    return not texts.terms.isdisjoint(query.query_words[-1].spellings if query.query_words else ())


def _begins_any(start: str, names: Iterable[str]) -> bool:
    return any(name.startswith(start) for name in names)


def _count_mistakes(query: SearchQuery, terms: frozenset[str]) -> list[int]:
    """Return for each word of the query the smallest number of mistakes with which it is one of ``terms``."""
    found = [_find_fewest_mistakes(wanted, terms) for wanted in query.query_words]
    if found and found[-1] and _begins_any(query.query_words[-1].word, terms):
        found[-1] = 0
    for word, (first, second) in query.joined.items():
        if word in terms:
            found[first] = found[second] = 0
    return found


def _find_fewest_mistakes(wanted: QueryWord, terms: frozenset[str]) -> int:
    if wanted.parts and terms.issuperset(wanted.parts):
        return 0
    fewest = MISSING_WORD
    for word, mistakes in wanted.meanings.items():
        if mistakes < fewest and word in terms:
            fewest = mistakes
    return fewest


def _is_near_name(query: SearchQuery, texts: DocumentTexts) -> bool:
    """Return whether the query is nearly a name, with or without the articles of both."""
    if _is_near(query.joined_with_articles, texts.names_with_articles):
        return True
    return _is_near(query.joined_text, texts.names)


def _is_near(whole: str, names: Iterable[str]) -> bool:
    """Return whether ``whole`` differs from one of the names by few enough mistakes."""
    for name in names:
        # In a name of one letter a mistake is not allowed, because every other letter would be as near.
        most = 2 if len(name) >= MIN_LENGTH_FOR_TWO_MISTAKES else min(1, len(name) - 1)
        if most > 0 and OSA.distance(whole, name, score_cutoff=most) <= most:
            return True
    return False
