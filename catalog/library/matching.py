"""Find the books of rows: by ISBN, by the number that Goodreads gave the book, then by title and author.

The index of search in SQL has a list for each ISBN and each whole title, so many rows take three statements. Only rows
that these leave open are searched for one by one.
"""

from collections.abc import Iterable, Mapping, Sequence
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
MAX_QUERY: Final = 150  # letters of a title and an author


class Match(NamedTuple):
    """The result for a row: a book, candidates for the reader's choice, or neither."""

    step: Step
    book: int | None = None
    candidates: tuple[int, ...] = ()


MISSING: Final = Match(Step.MISSING)


class _Found(NamedTuple):
    """Books by the lists of search that contain them, by their number at Goodreads, and their records."""

    by_key: Mapping[str, list[int]]
    by_number: Mapping[int, int]
    records: Mapping[int, BookRecord]


def match_books(wanted: Sequence[ImportedBook]) -> list[Match]:
    """Return the match of each of these books."""
    found = _load(wanted)
    return [_match(one, found) for one in wanted]


def _load(wanted: Sequence[ImportedBook]) -> _Found:
    listed = {key for one in wanted for key in _list_keys(one)}
    by_key: dict[str, list[int]] = {}
    rows = Posting.objects.using(database()).filter(key__in=listed, member__startswith="b").order_by("-weight")
    for key, member in rows.values_list("key", "member"):
        by_key.setdefault(key, []).append(int(member[1:]))
    numbers = {one.goodreads_id for one in wanted if one.goodreads_id}
    known = Book.objects.using(database()).filter(goodreads_id__in=numbers).values_list("goodreads_id", "pk")
    by_number = dict(known)
    ids = {pk for pks in by_key.values() for pk in pks[:MAX_CANDIDATES]}
    return _Found(by_key, by_number, BookMirror.get_many(sorted(ids)))


def _list_keys(one: ImportedBook) -> Iterable[str]:
    yield from (f"b:{isbn}" for isbn in one.isbns)
    yield from (f"=:{whole}" for whole in _list_whole_titles(one.title))


def _list_whole_titles(title: str) -> list[str]:
    """Return a title joined into one word: as it is, without the series in brackets, and without the subtitle."""
    names = [*words.split_title_names(title), words.shorten_title(title)]
    return [whole for whole in dict.fromkeys(map(words.join_words, names)) if whole]


def _match(one: ImportedBook, found: _Found) -> Match:
    for isbn in one.isbns:
        for pk in found.by_key.get(f"b:{isbn}", ()):
            # A title may contain the number as well.
            if pk in found.records and found.records[pk]["isbn"] == isbn:
                return Match(Step.FOUND, pk)
    if one.goodreads_id in found.by_number:
        return Match(Step.FOUND, found.by_number[one.goodreads_id])
    titled = [pk for whole in _list_whole_titles(one.title) for pk in found.by_key.get(f"=:{whole}", ())]
    known = [found.records[pk] for pk in dict.fromkeys(titled) if pk in found.records]
    for book in known:
        if has_same_author(one.authors, book["authors"]):
            return Match(Step.FOUND, book["id"])
    return _search(one, known[:MAX_CANDIDATES])


def _search(one: ImportedBook, known: Sequence[BookRecord]) -> Match:
    """Return the match by the search of the site. known: books with the same title and other authors."""
    title = words.shorten_title(one.title)
    results: Sequence[BookRecord] = ()
    if title and one.authors:
        results = search(f"{title[:MAX_QUERY]} {one.authors[0]}", most=MAX_CANDIDATES).books
    alike = [book for book in results if has_same_author(one.authors, book["authors"])]
    for book in alike:
        if words.join_words(words.shorten_title(book["title"])) == words.join_words(title):
            return Match(Step.FOUND, book["id"])
    ids = dict.fromkeys(book["id"] for book in [*alike, *known])
    return Match(Step.DOUBT, candidates=tuple(ids)[:MAX_CANDIDATES]) if ids else MISSING


def has_same_author(some: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether one of these authors is one of the others: the same name, or the same last name and initial."""
    names = {name for author in others for name in _list_names(author)}
    return any(name in names for author in some for name in _list_names(author))


def _list_names(author: str) -> list[str]:
    parts = words.split_words(author)
    if not parts:
        return []
    return ["".join(parts), f"{parts[0][0]} {parts[-1]}"]
