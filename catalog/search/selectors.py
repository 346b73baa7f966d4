"""Search for books, authors, tags and readers, best results first."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from catalog.search.entries import WORD_LISTS, split_names
from catalog.search.finding import MAX_MATCHES, find_candidates
from catalog.search.names.titles import collect_book_names
from catalog.search.ranking import ALL_WORDS, FUZZY, DocumentTexts, Rank, collect_texts, rank_document
from catalog.search.results.arrangement import find_famous_authors, put_volumes_in_order
from catalog.shelves.selectors import CardEntries, find_entries
from catalog.values.isbns import has_wrong_check_digit
from mirror import Question, answer, list_bucket_keys, registry, together
from mirror.conf import database
from mirror.redis import RedisPipeline

MAX_QUERY_LENGTH: Final = 200  # letters; the rest is ignored
MAX_BOOKS: Final = 20  # books on a page
MAX_PAGES: Final = MAX_MATCHES // MAX_BOOKS
MAX_OTHERS: Final = 6  # authors, tags, readers
MAX_CANDIDATES: Final = 48  # of each kind, for the detailed comparison
BOOK_LISTS: Final = "bg"  # the kinds of lists that contain books


class NamedResult(NamedTuple):
    """An author, a tag or a reader in the results. weight: its popularity. others: names that find it as well."""

    id: int
    name: str
    weight: int = 0
    others: tuple[str, ...] = ()


def _count_pages(matches: Sequence[int]) -> int:
    return max(1, -(-len(matches) // MAX_BOOKS))


@dataclass(frozen=True)
class SearchResults:
    """A page of the results of a search, best first.

    books: those that match all words, followed on the first page by similar ones if there is room. card_values: the
    values of card extras for the books. entries: the books on the viewer's shelves; None: not logged in. is_wrong_isbn:
    the query is an ISBN with a wrong check digit. matches: the ids of all books that match all words, best first.
    similar: the ids of similar books. is_complete: whether ``matches`` has all books. known_words: the words of the
    query that the vocabulary has, or the likeliest corrections of them. corrected: the query with corrected words, if
    no book matches.
    """

    query: str
    books: list[BookRecord]
    authors: list[NamedResult]
    tags: list[NamedResult]
    readers: list[NamedResult]
    card_values: extras.CardValues = ()
    entries: CardEntries | None = None
    is_wrong_isbn: bool = False
    matches: Sequence[int] = ()
    similar: Sequence[int] = ()
    is_complete: bool = True
    page: int = 1
    known_words: Sequence[str] = ()
    corrected: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the search found nothing."""
        return not (self.books or self.authors or self.tags or self.readers)

    @property
    def count(self) -> int:
        """The number of books that match all words, on all pages."""
        return len(self.matches)

    @property
    def match_count(self) -> int:
        """The number of books on this page that match all words. The others are similar."""
        return len(self.books) - (len(self.similar) if self.page == 1 else 0)

    @property
    def page_count(self) -> int:
        """The number of pages."""
        return _count_pages(self.matches)


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


def search(
    text: str, viewer: int = 0, most: int | None = None, page: int | None = None, kinds: str = WORD_LISTS
) -> SearchResults:
    """Find books, authors, tags and readers for ``viewer`` (0: not logged in).

    most: the maximum number of books (None: ``MAX_BOOKS``). page: the number of the page of all books that match; None:
    only the best books. kinds: the letters of the kinds to find (``catalog.search.entries``). From warm mirrors: 3
    round trips and no SQL; one more for a further page.
    """
    text = " ".join(text[:MAX_QUERY_LENGTH].split())
    if has_wrong_check_digit(text):
        return SearchResults(text, [], [], [], [], is_wrong_isbn=True)
    query = parse_query(text)
    if not query.query_words:
        return SearchResults(text, [], [], [], [])
    candidates = find_candidates(query, kinds, with_matches=page is not None)
    found = {kind: members[:MAX_CANDIDATES] for kind, members in candidates.by_kind.items() if kind in kinds}
    wanted = _CandidateIds(
        _parse_ids([*found.get("b", ()), *candidates.matches[:MAX_BOOKS]]),
        [_parse_named_result(member) for member in found.get("t", ())],
        _parse_ids(found.get("r", ())),
    )
    loaded = _load_candidates(wanted, viewer)
    ranked = _rank(query, loaded.books, _collect_book_texts)
    matching = put_volumes_in_order([(rank, book) for rank, book in ranked if rank[0] < FUZZY])
    matches = _join_matches(matching, candidates.matches)
    similar = [book["id"] for _, book in ranked if book["id"] not in matches]
    authors = list(map(_parse_named_result, found.get("a", ())))
    # Where books have all words as they were typed, a name with similar words is another one ("otter" for "potter").
    rank_named = partial(_rank_names, query, with_mistakes=not matches)
    results = SearchResults(
        text,
        [],
        _pick_authors(rank_named(authors), ranked),
        [tag for _, tag in rank_named(loaded.tags)[:MAX_OTHERS]],
        [reader for _, reader in rank_named(loaded.readers)[:MAX_OTHERS]],
        matches=matches,
        similar=similar[: max(0, MAX_BOOKS - len(matches))],
        is_complete=candidates.is_complete,
        page=min(page or 1, _count_pages(matches)),
        known_words=query.known_words,
        corrected="" if matches else query.corrected,
    )
    if results.page > 1:
        return _load_page(results, viewer)
    shown = [pk for pk in (*results.matches, *results.similar) if pk in wanted.books]
    return _add_books(results, shown[: most or MAX_BOOKS], wanted.books, loaded, viewer)


def _add_books(
    results: SearchResults, shown: Sequence[int], wanted: Sequence[int], loaded: _LoadedCandidates, viewer: int
) -> SearchResults:
    """Return the results with the books ``shown``. wanted: the ids of the books that were asked for."""
    books = {book["id"]: book for book in loaded.books}
    there = [pk for pk in shown if pk in books]
    places = [wanted.index(pk) for pk in there]
    return replace(
        results,
        books=[books[pk] for pk in there],
        card_values=[[values[n] for n in places] for values in loaded.card_values],
        entries=[loaded.entries[n] for n in places] if viewer else None,
    )


def find_matching_books(text: str) -> Sequence[int]:
    """Return the ids of the books that a search for ``text`` finds, best first."""
    found = search(text, page=1, kinds=BOOK_LISTS)
    return found.matches or found.similar


def _parse_ids(members: Iterable[str]) -> list[int]:
    return list(dict.fromkeys(int(member[1:]) for member in members))


def _join_matches(best: Iterable[BookRecord], others: Sequence[str]) -> list[int]:
    """Return the ids of all books that match: the ones that were compared in detail, then the others by weight."""
    return list(dict.fromkeys([*(book["id"] for book in best), *_parse_ids(others)]))


def _load_page(results: SearchResults, viewer: int) -> SearchResults:
    """Return the results with the books of their page."""
    end = results.page * MAX_BOOKS
    shown = list(results.matches[end - MAX_BOOKS : end])
    return _add_books(results, shown, shown, _load_candidates(_CandidateIds(shown, [], []), viewer), viewer)


def _pick_authors(
    named: Sequence[tuple[Rank, NamedResult]], ranked: Sequence[tuple[Rank, BookRecord]]
) -> list[NamedResult]:
    """Return the best authors: those with the words of the query in their names, then those of the books with these
    words in titles, then those with similar names.
    """
    famous = find_famous_authors(book for rank, book in ranked if rank[0] <= ALL_WORDS)
    found: dict[int, NamedResult] = {author.id: author for rank, author in named if rank[0] < FUZZY}
    for pk, name in famous:
        found.setdefault(pk, NamedResult(pk, name))
    for _, author in named:
        found.setdefault(author.id, author)
    return list(found.values())[:MAX_OTHERS]


def _parse_named_result(member: str) -> NamedResult:
    """Return the author or tag that a member of a list names. The list is sorted by weight."""
    pk, _, text = member[1:].partition("|")
    name, *others = split_names(text)
    return NamedResult(int(pk), name, others=tuple(others))


Candidate = TypeVar("Candidate")


def _rank(
    query: SearchQuery, candidates: Sequence[Candidate], texts: Callable[[Candidate], DocumentTexts]
) -> list[tuple[Rank, Candidate]]:
    """Return the candidates that match, with their ranks, best first.

    Among equals, the heaviest come first, then those that come first in the list.
    """
    ranked = [(rank_document(query, texts(one)), n, one) for n, one in enumerate(candidates)]
    found = [(rank, -_get_weight(one), n, one) for rank, n, one in ranked if rank is not None]
    return [(rank, one) for rank, _, _, one in sorted(found, key=lambda each: each[:3])]


def _rank_names(
    query: SearchQuery, candidates: Sequence[Candidate], *, with_mistakes: bool
) -> list[tuple[Rank, Candidate]]:
    """Rank authors, tags or readers. with_mistakes: whether also those with words that are only similar."""
    ranked = _rank(query, candidates, _collect_name_texts)
    return [(rank, one) for rank, one in ranked if with_mistakes or not (rank[0] == FUZZY and rank[3])]


def _get_weight(found: Any) -> int:
    return int(found["popularity"]) if isinstance(found, BookRecord) else int(getattr(found, "weight", 0))


def _collect_book_texts(book: BookRecord) -> DocumentTexts:
    names = collect_book_names(book["title"], book["original_title"], book["isbn"])
    return collect_texts(names.full, tuple(book["authors"]), tuple(book["tags"]), names.shorter)


def _collect_name_texts(named: Any) -> DocumentTexts:
    return collect_texts((named.name, *getattr(named, "others", ())))


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
