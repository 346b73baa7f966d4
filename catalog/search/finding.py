"""Find candidates: two round trips to Redis, or three statements of SQL, with the same answer.

The first round trip asks the vocabulary for the possible meanings of all words. The second reads the heaviest members
of the lists of those words. Only the beginning of each list is read, so a document may be missing in one of its lists.
``catalog.search.ranking`` therefore compares the documents themselves.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import orjson

from catalog import keys
from catalog.search import entries, lists, store
from catalog.search.corrections import SearchQuery, add_meanings
from catalog.search.lists import Member
from catalog.search.results.matches import Lists, find_matches, list_keys_of_matches
from mirror.read import ask_sql, read
from mirror.redis import RedisPipeline
from mirror.relay import tables

MAX_VOCABULARY_WORDS: Final = 24  # words from each list of the vocabulary
MAX_POSTINGS: Final = 80  # documents from each list
MAX_MATCHES: Final = 2000  # books from each list of a word, if all books that match are wanted
MAX_CATCH_UP_CHANGES: Final = 100  # pending changes of each kind that a search in SQL applies first
INDEXES: Final = ("indexed_book", "indexed_author", "indexed_tag", "indexed_reader")
MIRRORS: Final = ("document", "term")
PART_KINDS: Final = "ba"  # books and authors: a query may lack a blank of their names


class Candidates(NamedTuple):
    """What a search compares in detail.

    by_kind: the members of lists by the letter of their kind, the likeliest first. matches: the books that have each
    word of the query without a mistake, heaviest first; empty unless they were asked for. is_complete: whether
    ``matches`` has all of them.
    """

    by_kind: Mapping[str, list[str]]
    matches: list[str]
    is_complete: bool


def find_candidates(query: SearchQuery, kinds: str = entries.WORD_LISTS, *, with_matches: bool = False) -> Candidates:
    """Return candidates, and add meanings to the query.

    kinds: the letters of the lists to read. with_matches: whether to find all books that match, if ``kinds`` has books.
    """
    with_matches = with_matches and "b" in kinds
    vocabulary = dict.fromkeys(query.vocabulary_keys, MAX_VOCABULARY_WORDS)
    add_meanings(query, *_read_words_and_lists(query.terms, vocabulary))
    chances = _weigh_lists(query, kinds)
    limits = dict.fromkeys(chances, MAX_POSTINGS)
    if with_matches:
        limits.update(dict.fromkeys(list_keys_of_matches(query), MAX_MATCHES))
    _, found = _read_words_and_lists([], limits)
    matches = find_matches(query, found) if with_matches else []
    is_complete = all(len(members) < MAX_MATCHES for members in found.values())
    return Candidates(_group_by_kind(chances, found), matches, is_complete)


def _read_words_and_lists(terms: Sequence[str], wanted: Mapping[str, int]) -> tuple[Mapping[str, int], Lists]:
    """Return the weights of the existing words among ``terms``, and the heaviest members of lists.

    wanted: the number of members by list.
    """
    if not (terms or wanted):
        return {}, {}

    def ask(pipe: RedisPipeline) -> None:
        if terms:
            pipe.mget(list(map(keys.search_term, terms)))
        for key, limit in wanted.items():
            pipe.zrange(keys.search_list(key), 0, limit - 1, withscores=True)

    # No reader, because a search has a hundred lists, which SQL reads in one statement after it has applied pending
    # changes. These are written to the primary, also if a replica answers.
    reading = read(MIRRORS, ask)
    if reading is None:
        if terms:  # the first stage
            tables.catch_up(INDEXES, MAX_CATCH_UP_CHANGES)
        return ask_sql(MIRRORS, lambda: (_load_weights_from_sql(terms), _load_lists_from_sql(wanted)))
    replies = iter(reading.replies)
    raws = next(replies) if terms else []
    words = [orjson.loads(raw) for raw in raws if raw is not None]
    found = {
        key: [(member.decode(), int(-score)) for member, score in reply]
        for key, reply in zip(wanted, replies, strict=True)
    }
    return {word["text"]: word["weight"] for word in words}, found


def _load_lists_from_sql(wanted: Mapping[str, int]) -> Lists:
    found: dict[str, Sequence[Member]] = {}
    for limit, names in groupby(sorted(wanted, key=wanted.__getitem__), key=wanted.__getitem__):
        found.update(lists.read_lists(list(names), limit))
    # In the order of ``wanted``, as the replies of Redis.
    return {key: found[key] for key in wanted if key in found}


def _load_weights_from_sql(terms: Sequence[str]) -> dict[str, int]:
    return {word.text: word.weight for word in store.read_terms(terms).values()} if terms else {}


def _weigh_lists(query: SearchQuery, kinds: str) -> dict[str, tuple[int | None, float]]:
    """Return the lists to read, each with its word of the query (None: all words) and the value of a match."""
    found: dict[str, tuple[int | None, float]] = {}
    for n, wanted in enumerate(query.query_words):
        for word, mistakes in wanted.meanings.items():
            worth = 1 / (1 + mistakes)
            for kind in kinds:
                found.setdefault(f"{kind}:{word}", (n, worth * (0.9 if kind == "g" else 1)))
        for part in wanted.parts:
            for kind in PART_KINDS:
                if kind in kinds:
                    found.setdefault(f"{kind}:{part}", (n, 0.5))
    for word in query.joined:
        found.update({f"{kind}:{word}": (None, 2.0) for kind in kinds})
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
    for key, (part, worth) in chances.items():
        members = found.get(key, ())
        for member, weight in members[:MAX_POSTINGS]:
            weights[member] = weight
            best[member][part] = max(best[member].get(part, 0), worth)
    chance = {member: sum(parts.values()) for member, parts in best.items()}
    kinds: dict[str, list[str]] = defaultdict(list)
    # By weight and then by bytes, so that SQL and Redis give one order.
    for member in sorted(chance, key=lambda member: (-chance[member], -weights[member], member)):
        kinds[member[0]].append(member)
    return kinds
