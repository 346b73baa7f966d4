"""Mirrors of books, tags, votes and authors."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from zlib import crc32

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

import mirror
from catalog import keys, title_keys  # noqa: F401  (its mirror registers on import)
from catalog.books.links import find_books_by_authors, find_books_with_tags
from catalog.books.records import COLUMNS, BookRecord, BookRow, Record, build_record, load_book_rows
from catalog.books.series import parse_series
from catalog.covers import mirrors as covers  # noqa: F401  (its mirror registers on import)
from catalog.listing.filters import BOOK_SETS
from catalog.models import Author, Book, Tag, Tagging, TagVote
from catalog.shelves import mirrors as shelves  # noqa: F401  (its mirrors register on import)
from catalog.values.collation import make_sort_key
from common.ids import parse_ids
from mirror import (
    Alphabetical,
    Column,
    Contribution,
    Family,
    Members,
    Mirror,
    Ranking,
    Scored,
    SetOf,
    Watch,
    find_bucket_key,
    find_bucket_start,
)
from mirror.read import RawRecord

UNKNOWN_YEAR = float("-inf")  # sorts after every year, because the newest books come first
UNKNOWN_RATING = float("-inf")


class _EntryKeys(NamedTuple):
    """The keys of the entries of books, computed once and not for every book."""

    popular: str
    newest: str
    ratings: str
    titles: str
    tag_start: str


@cache
def _get_entry_keys() -> _EntryKeys:
    return _EntryKeys(keys.popular(), keys.newest(), keys.ratings(), keys.titles(), keys.tag(""))


@mirror.register
class BookMirror(Mirror[BookRecord]):
    """A book's record, its places in the orders and in its series, and its memberships in the sets of its tags and in
    those of filters.
    """

    name = "book"
    version = f"6.{crc32(repr(BookRow._fields).encode())}"  # a new field of the record rebuilds the mirror by itself
    model = Book
    key = keys.book("{pk}")
    record_class = BookRecord
    buckets = settings.CATALOG_TAG_BUCKETS  # of each tag's set
    watches = (
        # Without the sort title, which SQL computes from the title.
        Watch(Book, only=tuple(column for column in COLUMNS if column != "sort_title")),
        Watch(Tagging, "book_id"),
        Watch(Book.authors.through, "book_id"),
        Watch(TagVote, "book_id"),
        Watch(Tag, via=find_books_with_tags, only=("name", "hidden"), inserts=False),
        Watch(Author, via=find_books_by_authors, only=("name",), inserts=False),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, BookRow]:
        return {str(row.id): row for row in load_book_rows(parse_ids(pks))}

    def record(self, row: Any) -> Record:
        return build_record(row)

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        pk, places = str(record["id"]), _get_entry_keys()
        tag_start = find_bucket_key(places.tag_start, pk, self.buckets)
        year, rating = record["year"], record["rating"]
        # The key comes before the id, because all scores are 0 and Redis then sorts by member.
        title = f"{make_sort_key(record['sort_title'])}\0{pk}"
        entries: list[Contribution] = [
            Scored(places.popular, pk, record["popularity"]),
            Scored(places.newest, pk, UNKNOWN_YEAR if year is None else year),
            Scored(places.ratings, pk, UNKNOWN_RATING if rating is None else rating),
            Scored(places.titles, title, 0),
            Members([tag_start + name for name in record["tags"]], pk),
        ]
        for sets in BOOK_SETS:
            found = map(sets.make_key, sets.list_values(record))
            entries.append(Members(list(found), pk))
        volume = f"{record['id']:019}\0{record['title']}"
        for series in parse_series(record["title"]):
            if series.is_single:
                name = series.normalised_name
                entries += [Scored(keys.series(author, name), volume, series.first) for author in record["author_ids"]]
        return entries

    def families(self) -> Sequence[Family]:
        families = [
            Family(keys.tag(""), "set", _member_as_id),
            Family(keys.popular(), "zset", _member_as_id, whole=True),
            Family(keys.series("", "").removesuffix(":"), "zset", _parse_series_member),
            Family(keys.newest(), "zset", _member_as_id, whole=True),
            Family(keys.ratings(), "zset", _member_as_id, whole=True),
            Family(keys.titles(), "zset", _parse_text_member, whole=True),
        ]
        families += [Family(sets.make_key(""), "set", _member_as_id) for sets in BOOK_SETS]
        if self.buckets > 1:
            families.append(Family(find_bucket_start(keys.tag("")), "set", _member_as_id))
        return families

    def retired(self) -> Sequence[str]:
        return [find_bucket_start(keys.tag(""))] if self.buckets == 1 else []

    def feed(self) -> str:
        return keys.changes()


def _member_as_id(key: str, member: str) -> str:
    return member


def _parse_series_member(key: str, member: str) -> str:
    return str(int(member.partition("\0")[0]))


def _parse_text_member(key: str, member: str) -> str:
    return member.rpartition("\0")[2]


@mirror.register
class TagMirror(Mirror):
    """A tag's name, and a sorted set of all names, which can be searched by prefix."""

    model = Tag
    key = keys.tag_record("{pk}")
    fields = ("id", "name")
    indexes = (Alphabetical(keys.tag_names(), by="name"),)


@mirror.register
class HiddenTagMirror(Mirror):
    """The names of hidden tags. This mirror is separate because the copies in the processes read all of it."""

    label = _("hidden tags")
    model = Tag
    key = keys.hidden_tag("{pk}")
    fields = ("id", "name")
    where = Q(hidden=True)
    indexes = (Ranking(keys.hidden_tags(), score=0), SetOf(keys.hidden_names(), member="{name}\0{pk}"))

    def feed(self) -> str:
        """Return the books' feed, because the copies in the processes leave hidden tags out of facets."""
        return keys.changes()


@mirror.register
class TagVoteMirror(Mirror):
    """The tags that a reader gave a book, by name."""

    label = _("tags of readers")
    model = TagVote
    key = keys.tag_vote("{pk}")
    fields = (
        "id",
        Column("user_id", name="user"),
        Column("book_id", name="book"),
        Column("tag__name", name="tag"),
    )
    indexes = (Alphabetical("uid:{{{user}}}:book:{book}:tags", by="tag"),)  # keys.tags_of_reader


@mirror.register
class AuthorMirror(Mirror[RawRecord]):
    """An author's name, a text about the author, and the name of a photo."""

    model = Author
    key = keys.author("{pk}")
    record_class = RawRecord
    fields = ("id", "name", "bio", "photo")
