"""Search for books, authors, tags and readers, best results first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models import Count

from catalog import extras, keys, sorts
from catalog.models import Tagging
from catalog.results import BookRecord
from catalog.search import words
from catalog.search.corrections import Query, read_query
from catalog.search.finding import find_candidates
from catalog.search.ranking import Texts, rank, texts_of
from catalog.selectors import records_by_sql
from mirror.conf import setting
from mirror.read import read

LONGEST_QUERY: Final = 200  # letters; the rest is ignored
BOOKS: Final = 20
OTHERS: Final = 6  # authors, tags, readers
CANDIDATES: Final = 48  # of each kind, for the detailed comparison


class Named(NamedTuple):
    """An author, a tag or a reader in the results. weight: its popularity."""

    id: int
    name: str
    weight: int = 0


@dataclass(frozen=True)
class Found:
    """The results of a search, best first."""

    query: str
    books: list[BookRecord]
    authors: list[Named]
    tags: list[Named]
    readers: list[Named]
    beside: extras.Beside = ()  # the values of card extras for the books

    @property
    def is_empty(self) -> bool:
        """Whether the search found nothing."""
        return not (self.books or self.authors or self.tags or self.readers)


@dataclass(frozen=True)
class Readers:
    """The source of readers for search, which hides readers that the viewer may not see.

    mirrors: the mirrors that must be warm. ask: adds a fixed number of commands for a viewer (0: not logged in) and
    ids, and no command without ids. read: returns the readers from the replies. by_sql: returns the same from SQL.
    """

    mirrors: Sequence[str]
    ask: Callable[[Any, int, Sequence[int]], object]
    read: Callable[[Sequence[int], Sequence[Any]], Sequence[Any]]
    by_sql: Callable[[int, Sequence[int]], Sequence[Any]]


_readers: list[Readers] = []


def register_readers(readers: Readers) -> None:
    """Register the source of readers."""
    _readers[:] = [readers]


class _Wanted(NamedTuple):
    """The ids of the candidates to load."""

    books: list[int]
    tags: list[Named]
    readers: list[int]


class _Loaded(NamedTuple):
    books: Sequence[BookRecord]
    tags: Sequence[Named]
    readers: Sequence[Any]
    beside: extras.Beside = ()  # for each candidate, in the order of ``_Wanted.books``


def search(text: str, viewer: int = 0, most: int | None = None) -> Found:
    """Find books, authors, tags and readers for ``viewer`` (0: not logged in).

    most: the maximum number of books (None: ``BOOKS``). From warm mirrors: 3 round trips and no SQL.
    """
    text = " ".join(text[:LONGEST_QUERY].split())
    query = read_query(text)
    if not query.wanted:
        return Found(text, [], [], [], [])
    found = find_candidates(query)
    wanted = _Wanted(
        [int(member[1:]) for member in found["b"][:CANDIDATES]],
        [_named(member) for member in found["t"][:CANDIDATES]],
        [int(member[1:]) for member in found["r"][:CANDIDATES]],
    )
    loaded = _load(wanted, viewer)
    books = _best(query, loaded.books, _texts_of_book, most or BOOKS)
    places = [wanted.books.index(book["id"]) for book in books]
    return Found(
        text,
        books,
        _best(query, list(map(_named, found["a"][:CANDIDATES])), _texts_of_name, OTHERS),
        _best(query, loaded.tags, _texts_of_name, OTHERS),
        _best(query, loaded.readers, _texts_of_name, OTHERS),
        [[values[n] for n in places] for values in loaded.beside],
    )


def _named(member: str) -> Named:
    """Return the author or tag that a member of a list names. The list is sorted by weight."""
    pk, _, name = member[1:].partition("|")
    return Named(int(pk), name)


R = TypeVar("R")


def _best(query: Query, candidates: Sequence[R], texts: Callable[[R], Texts], most: int) -> list[R]:
    """Return the best candidates. Among equals, the heaviest come first, then those that come first in the list."""
    ranked = [(rank(query, texts(one)), n, one) for n, one in enumerate(candidates)]
    found = [(place, -_weigh(one), n, one) for place, n, one in ranked if place is not None]
    return [one for *_, one in sorted(found, key=lambda each: each[:3])[:most]]


def _weigh(found: Any) -> int:
    return int(found["popularity"]) if isinstance(found, BookRecord) else int(getattr(found, "weight", 0))


def _texts_of_book(book: BookRecord) -> Texts:
    isbns = words.isbns(book["isbn"])
    names, short = words.names_of_title(book["title"]), words.short_title(book["title"])
    shorter = (short,) if short else ()
    return texts_of((*names, *isbns), tuple(book["authors"]), tuple(book["tags"]), shorter)


def _texts_of_name(named: Any) -> Texts:
    return texts_of((named.name,))


def _load(wanted: _Wanted, viewer: int) -> _Loaded:
    if not any(wanted):
        return _Loaded([], [], [])

    def ask(pipe: Any) -> None:
        if wanted.books:
            pipe.mget(list(map(keys.book, wanted.books)))
            extras.ask_for_cards(pipe, wanted.books)
        for tag in wanted.tags:
            pipe.scard(keys.tag(tag.name))
        for readers in _readers:
            readers.ask(pipe, viewer, wanted.readers)

    mirrors = ["book", *sorts.others(), *(name for readers in _readers if wanted.readers for name in readers.mirrors)]
    reading = read(mirrors, ask)
    if reading is None:
        return _load_by_sql(wanted, viewer)
    replies = iter(reading.replies)
    raws = next(replies) if wanted.books else []
    beside = extras.found_for_cards(list(islice(replies, extras.count_on_cards()))) if wanted.books else ()
    tags = [tag._replace(weight=count) for tag, count in zip(wanted.tags, replies, strict=False)]
    rest = list(replies)
    found = [reader for readers in _readers for reader in readers.read(wanted.readers, rest)]
    return _Loaded([BookRecord(raw) for raw in raws if raw is not None], tags, found, beside)


def _load_by_sql(wanted: _Wanted, viewer: int) -> _Loaded:
    links = Tagging._base_manager.using(setting("DATABASE"))
    ids = [tag.id for tag in wanted.tags]
    counts = dict(links.filter(tag_id__in=ids).values_list("tag_id").annotate(Count("id")).order_by())
    tags = [tag._replace(weight=counts.get(tag.id, 0)) for tag in wanted.tags]
    found = [reader for readers in _readers for reader in readers.by_sql(viewer, wanted.readers)]
    return _Loaded(records_by_sql(wanted.books), tags, found, extras.by_sql_for_cards(wanted.books))
