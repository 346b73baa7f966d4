"""Search for books, authors, tags and readers, best results first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models import Count

from catalog import keys
from catalog.books import extras
from catalog.books.records import BookRecord
from catalog.listing import sorts
from catalog.mirrors import BookMirror
from catalog.models import Tagging
from catalog.search.corrections import SearchQuery, parse_query
from catalog.search.finding import find_candidates
from catalog.search.names.titles import collect_book_names
from catalog.search.ranking import DocumentTexts, collect_texts, rank_document
from catalog.shelves.selectors import CardEntries, find_entries
from catalog.values.isbns import has_wrong_check_digit
from mirror import Question, answer, list_bucket_keys, registry, together
from mirror.conf import database
from mirror.redis import RedisPipeline

MAX_QUERY_LENGTH: Final = 200  # letters; the rest is ignored
MAX_BOOKS: Final = 20
MAX_OTHERS: Final = 6  # authors, tags, readers
MAX_CANDIDATES: Final = 48  # of each kind, for the detailed comparison


class NamedResult(NamedTuple):
    """An author, a tag or a reader in the results. weight: its popularity."""

    id: int
    name: str
    weight: int = 0


@dataclass(frozen=True)
class SearchResults:
    """The results of a search, best first."""

    query: str
    books: list[BookRecord]
    authors: list[NamedResult]
    tags: list[NamedResult]
    readers: list[NamedResult]
    card_values: extras.CardValues = ()  # the values of card extras for the books
    entries: CardEntries | None = None  # the books on the viewer's shelves; None: not logged in
    is_wrong_isbn: bool = False  # the query is an ISBN with a wrong check digit

    @property
    def is_empty(self) -> bool:
        """Whether the search found nothing."""
        return not (self.books or self.authors or self.tags or self.readers)


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


class _CandidateIds(NamedTuple):
    """The ids of the candidates to load."""

    books: list[int]
    tags: list[NamedResult]
    readers: list[int]


class _LoadedCandidates(NamedTuple):
    books: Sequence[BookRecord] = ()
    tags: Sequence[NamedResult] = ()
    readers: Sequence[Any] = ()
    card_values: extras.CardValues = ()  # for each candidate, in the order of ``_CandidateIds.books``
    entries: CardEntries = ()


def search(text: str, viewer: int = 0, most: int | None = None) -> SearchResults:
    """Find books, authors, tags and readers for ``viewer`` (0: not logged in).

    most: the maximum number of books (None: ``MAX_BOOKS``). From warm mirrors: 3 round trips and no SQL.
    """
    text = " ".join(text[:MAX_QUERY_LENGTH].split())
    if has_wrong_check_digit(text):
        return SearchResults(text, [], [], [], [], is_wrong_isbn=True)
    query = parse_query(text)
    if not query.query_words:
        return SearchResults(text, [], [], [], [])
    found = find_candidates(query)
    wanted = _CandidateIds(
        [int(member[1:]) for member in found["b"][:MAX_CANDIDATES]],
        [_parse_named_result(member) for member in found["t"][:MAX_CANDIDATES]],
        [int(member[1:]) for member in found["r"][:MAX_CANDIDATES]],
    )
    loaded = _load_candidates(wanted, viewer)
    books = _pick_best(query, loaded.books, _collect_book_texts, most or MAX_BOOKS)
    places = [wanted.books.index(book["id"]) for book in books]
    return SearchResults(
        text,
        books,
        _pick_best(query, list(map(_parse_named_result, found["a"][:MAX_CANDIDATES])), _collect_name_texts, MAX_OTHERS),
        _pick_best(query, loaded.tags, _collect_name_texts, MAX_OTHERS),
        _pick_best(query, loaded.readers, _collect_name_texts, MAX_OTHERS),
        [[values[n] for n in places] for values in loaded.card_values],
        [loaded.entries[n] for n in places] if viewer else None,
    )


def _parse_named_result(member: str) -> NamedResult:
    """Return the author or tag that a member of a list names. The list is sorted by weight."""
    pk, _, name = member[1:].partition("|")
    return NamedResult(int(pk), name)


Candidate = TypeVar("Candidate")


def _pick_best(
    query: SearchQuery, candidates: Sequence[Candidate], texts: Callable[[Candidate], DocumentTexts], most: int
) -> list[Candidate]:
    """Return the best candidates. Among equals, the heaviest come first, then those that come first in the list."""
    ranked = [(rank_document(query, texts(one)), n, one) for n, one in enumerate(candidates)]
    found = [(place, -_get_weight(one), n, one) for place, n, one in ranked if place is not None]
    return [one for *_, one in sorted(found, key=lambda each: each[:3])[:most]]


def _get_weight(found: Any) -> int:
    return int(found["popularity"]) if isinstance(found, BookRecord) else int(getattr(found, "weight", 0))


def _collect_book_texts(book: BookRecord) -> DocumentTexts:
    names = collect_book_names(book["title"], book["original_title"], book["isbn"])
    return collect_texts(names.full, tuple(book["authors"]), tuple(book["tags"]), names.shorter)


def _collect_name_texts(named: Any) -> DocumentTexts:
    return collect_texts((named.name,))


def _load_candidates(wanted: _CandidateIds, viewer: int) -> _LoadedCandidates:
    with together() as reads:
        books = reads(BookMirror.get_many, wanted.books)
        entries = reads(find_entries, viewer, wanted.books if viewer else [])
        others = reads(_find_others, wanted, viewer)
    return others.value._replace(books=list(books.value.values()), entries=entries.value)


def _find_others(wanted: _CandidateIds, viewer: int) -> _LoadedCandidates:
    """Return the candidates without books: numbers of books of tags, readers, and the card extras of books."""
    if not any(wanted):
        return _LoadedCandidates()
    buckets = registry.get("book").buckets

    def ask(pipe: RedisPipeline) -> None:
        if wanted.books:
            extras.card_extras.add_commands(pipe, wanted.books)
        for tag in wanted.tags:
            for name in list_bucket_keys(keys.tag(tag.name), buckets):
                pipe.scard(name)
        for readers in _reader_sources:
            readers.add_commands(pipe, viewer, wanted.readers)

    def decode(replies: list[Any]) -> _LoadedCandidates:
        left = iter(replies)
        card_values = extras.read_card_replies(left) if wanted.books else ()
        tags = [tag._replace(weight=sum(islice(left, buckets))) for tag in wanted.tags]
        rest = list(left)
        found = [reader for readers in _reader_sources for reader in readers.parse_replies(wanted.readers, rest)]
        return _LoadedCandidates(tags=tags, readers=found, card_values=card_values)

    def load() -> _LoadedCandidates:
        links = Tagging._base_manager.using(database())
        ids = [tag.id for tag in wanted.tags]
        counts = dict(links.filter(tag_id__in=ids).values_list("tag_id").annotate(Count("id")).order_by())
        tags = [tag._replace(weight=counts.get(tag.id, 0)) for tag in wanted.tags]
        found = [reader for readers in _reader_sources for reader in readers.read_from_sql(viewer, wanted.readers)]
        return _LoadedCandidates(tags=tags, readers=found, card_values=extras.load_cards_from_sql(wanted.books))

    mirrors = [
        "book",
        *sorts.find_other_mirrors(),
        *(name for readers in _reader_sources if wanted.readers for name in readers.mirrors),
    ]
    # A question, because the readers and the extras of cards belong to other applications, and because SQL counts the
    # books of all tags in one statement.
    return answer(Question(mirrors, ask, decode, load))
