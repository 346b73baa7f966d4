"""Find candidates: two round trips to Redis, or three statements of SQL, with the same answer.

The first round trip asks the vocabulary for the possible meanings of all words. The second reads the heaviest members
of the lists of those words. Only the beginning of each list is read, so a document may be missing in one of its lists.
``catalog.search.ranking`` therefore compares the documents themselves.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from catalog import keys
from catalog.search import entries, lists, store
from catalog.search.corrections import SearchQuery, add_meanings
from catalog.search.lists import Member
from mirror.read import ask_sql, read
from mirror.redis import RedisPipeline
from mirror.relay import tables

MAX_VOCABULARY_WORDS: Final = 24  # words from each list of the vocabulary
MAX_POSTINGS: Final = 80  # documents from each list
MAX_CATCH_UP_CHANGES: Final = 100  # pending changes of each kind that a search in SQL applies first
INDEXES: Final = ("indexed_book", "indexed_author", "indexed_tag", "indexed_reader")
MIRRORS: Final = ("document", "term")

Lists = Mapping[str, Sequence[Member]]


def find_candidates(query: SearchQuery) -> dict[str, list[str]]:
    """Return candidates by the letter of their kind, the likeliest first, and add meanings to the query."""
    add_meanings(query, *_read_words_and_lists(query.terms, query.vocabulary_keys, MAX_VOCABULARY_WORDS))
    chances = _weigh_lists(query)
    _, found = _read_words_and_lists([], list(chances), MAX_POSTINGS)
    return _group_by_kind(chances, found)


def _read_words_and_lists(terms: Sequence[str], wanted: Sequence[str], limit: int) -> tuple[Mapping[str, int], Lists]:
    """Return the weights of the existing words among ``terms``, and the heaviest members of the lists ``wanted``."""
    if not (terms or wanted):
        return {}, {}

    def ask(pipe: RedisPipeline) -> None:
        if terms:
            pipe.mget(list(map(keys.search_term, terms)))
        for key in wanted:
            pipe.zrange(keys.search_list(key), 0, limit - 1, withscores=True)

    # No reader, because a search has a hundred lists, which SQL reads in one statement after it has applied pending
    # changes. These are written to the primary, also if a replica answers.
    reading = read(MIRRORS, ask)
    if reading is None:
        if terms:  # the first stage
            tables.catch_up(INDEXES, MAX_CATCH_UP_CHANGES)
        return ask_sql(MIRRORS, lambda: (_load_weights_from_sql(terms), lists.read_lists(wanted, limit)))
    replies = iter(reading.replies)
    raws = next(replies) if terms else []
    words = [orjson.loads(raw) for raw in raws if raw is not None]
    found = {
        key: [(member.decode(), int(-score)) for member, score in reply]
        for key, reply in zip(wanted, replies, strict=True)
    }
    return {word["text"]: word["weight"] for word in words}, found


def _load_weights_from_sql(terms: Sequence[str]) -> dict[str, int]:
    return {word.text: word.weight for word in store.read_terms(terms).values()} if terms else {}


def _weigh_lists(query: SearchQuery) -> dict[str, tuple[int | None, float]]:
    """Return the lists to read, each with its word of the query (None: all words) and the value of a match."""
    found: dict[str, tuple[int | None, float]] = {}
    for n, wanted in enumerate(query.query_words):
        for word, mistakes in wanted.meanings.items():
            worth = 1 / (1 + mistakes)
            for kind in entries.WORD_LISTS:
                found.setdefault(f"{kind}:{word}", (n, worth * (0.9 if kind == "g" else 1)))
        for part in wanted.parts:
            found.setdefault(f"b:{part}", (n, 0.5))
            found.setdefault(f"a:{part}", (n, 0.5))
    for word in query.joined:
        found.update({f"{kind}:{word}": (None, 2.0) for kind in entries.WORD_LISTS})
    if query.joined_text:
        found[f"=:{query.joined_text}"] = (None, 1000.0)
    if len(query.joined_text) in entries.START_LENGTHS:
        found[f"^:{query.joined_text}"] = (None, 100.0)
    name, weight = query.joined_with_articles, len(query.query_words) - 0.5
    # A name with one mistake has one letter less, as many, or one more.
    for length in (len(name) - 1, len(name), len(name) + 1):
        if length > 1:
            found.update(dict.fromkeys(entries.build_half_keys(name, length), (None, weight)))
    return found


def _group_by_kind(chances: Mapping[str, tuple[int | None, float]], found: Lists) -> dict[str, list[str]]:
    best: dict[str, dict[int | None, float]] = defaultdict(dict)
    weights: dict[str, int] = {}
    for key, members in found.items():
        part, worth = chances[key]
        for member, weight in members:
            weights[member] = weight
            best[member][part] = max(best[member].get(part, 0), worth)
    chance = {member: sum(parts.values()) for member, parts in best.items()}
    kinds: dict[str, list[str]] = defaultdict(list)
    # By weight and then by bytes, so that SQL and Redis give one order.
    for member in sorted(chance, key=lambda member: (-chance[member], -weights[member], member)):
        kinds[member[0]].append(member)
    return kinds
