"""The candidates of a search, read in one round trip: books with their cards, tags, and readers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import Count

from catalog import keys
from catalog.books import extras
from catalog.books.records import BookRecord
from catalog.listing import sorts
from catalog.mirrors import BookMirror
from catalog.models import Tagging
from catalog.search.results.values import NamedResult
from catalog.shelves.selectors import CardEntries, find_entries
from mirror import Question, answer, list_bucket_keys, registry, together
from mirror.conf import database
from mirror.redis import RedisPipeline


@dataclass(frozen=True)
class ReaderSource:
    """The source of readers for search, which hides readers that the viewer may not see.

    mirrors: the mirrors that must be warm. add_commands: adds a fixed number of commands for a viewer (0: not logged
    in) and ids, and no command without ids. parse_replies: returns the readers from the replies. read_from_sql: returns
    the same from SQL.
    """

    mirrors: Sequence[str]
    add_commands: Callable[[RedisPipeline, int, Sequence[int]], object]
    parse_replies: Callable[[Sequence[int], Sequence[Any]], Sequence[Any]]
    read_from_sql: Callable[[int, Sequence[int]], Sequence[Any]]


_reader_sources: list[ReaderSource] = []


def register_reader_source(readers: ReaderSource) -> None:
    """Register the source of readers."""
    _reader_sources[:] = [readers]


class CandidateIds(NamedTuple):
    """The ids of the candidates to load."""

    books: list[int]
    tags: list[NamedResult]
    readers: list[int]


class LoadedCandidates(NamedTuple):
    """The candidates that exist and that the viewer may see."""

    books: Sequence[BookRecord] = ()
    tags: Sequence[NamedResult] = ()
    readers: Sequence[Any] = ()
    card_values: extras.CardValues = ()  # for each candidate, in the order of ``CandidateIds.books``
    entries: CardEntries = ()


def load_candidates(wanted: CandidateIds, viewer: int) -> LoadedCandidates:
    """Return the existing candidates with the values of their cards. 1 round trip."""
    with together() as reads:
        books = reads(BookMirror.get_many, wanted.books)
        entries = reads(find_entries, viewer, wanted.books if viewer else [])
        others = reads(_find_others, wanted, viewer)
    return others.value._replace(books=list(books.value.values()), entries=entries.value)


def _find_others(wanted: CandidateIds, viewer: int) -> LoadedCandidates:
    """Return the candidates without books: numbers of books of tags, readers, and the card extras of books."""
    if not any(wanted):
        return LoadedCandidates()
    buckets = registry.get("book").buckets

    def ask(pipe: RedisPipeline) -> None:
        if wanted.books:
            extras.card_extras.add_commands(pipe, wanted.books)
        for tag in wanted.tags:
            for name in list_bucket_keys(keys.tag(tag.name), buckets):
                pipe.scard(name)
        for readers in _reader_sources:
            readers.add_commands(pipe, viewer, wanted.readers)

    def decode(replies: list[Any]) -> LoadedCandidates:
        left = iter(replies)
        card_values = extras.read_card_replies(left) if wanted.books else ()
        tags = [tag._replace(weight=sum(islice(left, buckets))) for tag in wanted.tags]
        rest = list(left)
        found = [reader for readers in _reader_sources for reader in readers.parse_replies(wanted.readers, rest)]
        return LoadedCandidates(tags=tags, readers=found, card_values=card_values)

    def load() -> LoadedCandidates:
        links = Tagging._base_manager.using(database())
        ids = [tag.id for tag in wanted.tags]
        counts = dict(links.filter(tag_id__in=ids).values_list("tag_id").annotate(Count("id")).order_by())
        tags = [tag._replace(weight=counts.get(tag.id, 0)) for tag in wanted.tags]
        found = [reader for readers in _reader_sources for reader in readers.read_from_sql(viewer, wanted.readers)]
        return LoadedCandidates(tags=tags, readers=found, card_values=extras.load_cards_from_sql(wanted.books))

    mirrors = [
        "book",
        *sorts.find_other_mirrors(),
        *(name for readers in _reader_sources if wanted.readers for name in readers.mirrors),
    ]
    # A question, because the readers and the extras of cards belong to other applications, and because SQL counts the
    # books of all tags in one statement.
    return answer(Question(mirrors, ask, decode, load))
