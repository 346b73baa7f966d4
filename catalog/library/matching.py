"""Find the books of rows: by ISBN, by the number that Goodreads gave the book, then by title and author.

The index of search in SQL has a list for each ISBN and each whole title, so many rows take a few statements. Only rows
that these leave open, and whose author has books here, are searched for one by one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from catalog.books.records import BookRecord
from catalog.library.formats import ImportedBook
from catalog.library.models import Step
from catalog.mirrors import BookMirror
from catalog.models import Book
from catalog.search import words
from catalog.search.models import Posting
from catalog.search.selectors import search
from mirror.conf import database

MAX_CANDIDATES: Final = 5
MAX_QUERY: Final = 150  # letters of a title


class Match(NamedTuple):
    """The result for a row: a book, candidates for the reader's choice, or neither."""

    step: Step
    book: int | None = None
    candidates: tuple[int, ...] = ()


MISSING: Final = Match(Step.MISSING)


def match_books(wanted: Sequence[ImportedBook]) -> list[Match]:
    """Return the match of each of these books."""
    matcher = _Matcher(wanted)
    return list(map(matcher.match, wanted))


class _Matcher:
    """What SQL knows of many rows at once.

    listed: the books in the lists of search, most read first. numbered: books by their number at Goodreads. writers:
    the lists of those last names of authors that a book here has.
    """

    def __init__(self, wanted: Sequence[ImportedBook]) -> None:
        keys: set[str] = set()
        numbers: set[int] = set()
        writers: set[str] = set()
        for one in wanted:
            keys.update(_list_keys(one))
            writers.update(_list_author_keys(one))
            if one.goodreads_id:
                numbers.add(one.goodreads_id)
        self.listed = _read_lists(keys)
        there = Posting.objects.using(database()).filter(key__in=writers, member__startswith="b")
        self.writers = set(there.values_list("key", flat=True).distinct())
        known = Book.objects.using(database()).filter(goodreads_id__in=numbers)
        self.numbered: dict[int | None, int] = dict(known.values_list("goodreads_id", "pk"))
        ids: set[int] = set()
        for books in self.listed.values():
            ids.update(books[:MAX_CANDIDATES])
        self.records: Mapping[int, BookRecord] = BookMirror.get_many(sorted(ids))

    def match(self, one: ImportedBook) -> Match:
        """Return the match of a book."""
        for isbn in one.isbns:
            for book in self._iterate_records([f"b:{isbn}"]):
                # A title may contain the number as well.
                if book["isbn"] == isbn:
                    return Match(Step.FOUND, book["id"])
        if one.goodreads_id in self.numbered:
            return Match(Step.FOUND, self.numbered[one.goodreads_id])
        titled = list(self._iterate_records(_list_title_keys(one.title)))
        for book in titled:
            if has_same_author(one.authors, book["authors"]):
                return Match(Step.FOUND, book["id"])
        # Most missing books have authors that the shop lacks, and need no search.
        has_writer = not self.writers.isdisjoint(_list_author_keys(one))
        return _search(one, titled) if titled or has_writer else MISSING

    def _iterate_records(self, keys: Iterable[str]) -> Iterator[BookRecord]:
        """Yield the records of the books in these lists, each once."""
        seen: set[int] = set()
        for key in keys:
            for pk in self.listed.get(key, ()):
                if pk in self.records and pk not in seen:
                    seen.add(pk)
                    yield self.records[pk]


def _read_lists(keys: set[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    rows = Posting.objects.using(database()).filter(key__in=keys, member__startswith="b").order_by("-weight")
    for key, member in rows.values_list("key", "member"):
        found.setdefault(key, []).append(int(member[1:]))
    return found


def _list_keys(one: ImportedBook) -> Iterator[str]:
    for isbn in one.isbns:
        yield f"b:{isbn}"
    yield from _list_title_keys(one.title)


def _list_title_keys(title: str) -> Iterator[str]:
    """Yield the search lists of a title as it is, without the series in brackets, and without the subtitle."""
    for name in (*words.split_title_names(title), words.shorten_title(title)):
        whole = words.join_words(name)
        if whole:
            yield f"=:{whole}"


def _list_author_keys(one: ImportedBook) -> Iterator[str]:
    """Yield the search lists of the words that are the authors' last names."""
    for author in one.authors:
        parts = words.split_words(author)
        if parts:
            yield f"b:{parts[-1]}"


def _search(one: ImportedBook, titled: Sequence[BookRecord]) -> Match:
    """Return the match by the search of the site. titled: books with the same title and other authors."""
    title = words.shorten_title(one.title)
    candidates: list[int] = []
    if title and one.authors:
        results = search(f"{title[:MAX_QUERY]} {one.authors[0]}", most=MAX_CANDIDATES).books
        for book in results:
            # The search also finds other books by the author.
            if not has_same_author(one.authors, book["authors"]) or not _has_similar_title(title, book["title"]):
                continue
            if words.join_words(words.shorten_title(book["title"])) == words.join_words(title):
                return Match(Step.FOUND, book["id"])
            candidates.append(book["id"])
    candidates += [book["id"] for book in titled]
    first = tuple(dict.fromkeys(candidates))[:MAX_CANDIDATES]
    return Match(Step.DOUBT, candidates=first) if first else MISSING


def _has_similar_title(short_title: str, other: str) -> bool:
    """Return whether a shortened title and another one share at least half of the words of the shorter one."""
    some = set(words.remove_articles(words.split_words(short_title)))
    others = set(words.remove_articles(words.split_words(words.shorten_title(other))))
    shared = some & others
    if not shared:
        return False
    return 2 * len(shared) >= min(len(some), len(others))


def has_same_author(some: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether one of these authors is one of the others: the same name, or the same last name and initial."""
    return not _list_names(some).isdisjoint(_list_names(others))


def _list_names(authors: Iterable[str]) -> set[str]:
    names: set[str] = set()
    for author in authors:
        parts = words.split_words(author)
        if parts:
            names.add("".join(parts))
            names.add(f"{parts[0][0]} {parts[-1]}")
    return names
