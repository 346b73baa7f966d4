"""Records of shelves. SQL builds the same records for Redis and for the pages that SQL answers."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from django.db.models import CharField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from catalog.shelves.models import PRIVACY_FIELDS, Privacy, ReadingGoal, Shelf, ShelfEntry, ShelfSettings
from common.database import pairs
from mirror.conf import setting

Record = dict[str, Any]
SHELVES = tuple(Shelf)
EPOCH: Final = date(1970, 1, 1)


class EntryRow(NamedTuple):
    """A shelf entry as the database returns it. Dates may be text."""

    user: int
    book: int
    shelf: str
    stars: int | None  # halves
    shelved_on: Any
    started_on: Any
    finished_on: Any
    sort_on: Any
    finished_precision: str
    pages: int | None  # of the reader's own edition
    earlier: int  # readings before the present or latest one
    progress_on: Any  # None: the other values of progress are None as well
    page: int | None
    percent: int | None
    note: str | None
    privacy: str | None  # of the shelf; None: no settings

    @property
    def is_public(self) -> bool:
        """Whether everyone may see the entry."""
        return self.privacy in (None, Privacy.PUBLIC)


_SELECT_ENTRIES = f"""
    SELECT e.user_id, e.book_id, e.shelf, e.stars, e.shelved_on, e.started_on, e.finished_on, e.sort_on,
           e.finished_precision, e.pages,
           (SELECT COUNT(*) FROM catalog_earlierreading r WHERE r.user_id = k.a AND r.book_id = k.b),
           p.noted_on, p.page, p.percent, p.note,
           CASE e.shelf {" ".join(f"WHEN '{shelf}' THEN s.{column}" for shelf, column in PRIVACY_FIELDS.items())} END
      FROM k
      JOIN catalog_shelfentry e ON e.user_id = k.a AND e.book_id = k.b
      JOIN accounts_user u ON u.id = k.a AND u.is_active
      LEFT JOIN catalog_shelfsettings s ON s.user_id = k.a
      LEFT JOIN catalog_readingprogress p ON p.id = (
          SELECT MAX(newest.id) FROM catalog_readingprogress newest
           WHERE newest.user_id = k.a AND newest.book_id = k.b AND newest.reading_id IS NULL)
"""


def build_entry_key(user_id: int, book_id: int) -> str:
    """Return the mirror's key of an entry."""
    return f"{user_id}:{book_id}"


def load_entries(keys: Sequence[pairs.Pair]) -> Mapping[str, EntryRow]:
    """Return the entries of active readers among these pairs of user and book, by mirror key, in one query."""
    rows = map(EntryRow._make, pairs.query_pairs(_SELECT_ENTRIES, keys))
    return {build_entry_key(row.user, row.book): row for row in rows}


def build_entry_record(row: EntryRow) -> Record:
    """Return the record at ``shelved:<user>:<book>``. Dates: ISO 8601 or None. stars: in halves.

    pages: of the reader's own edition, or None. earlier: the number of earlier readings. progress: the latest one in
    the present reading (noted_on, page or percent, note), or None.
    """
    # As text like all dates: a record is JSON, and SQL returns dates or texts.
    progress = None
    if row.progress_on is not None:
        progress = {"noted_on": str(row.progress_on), "page": row.page, "percent": row.percent, "note": row.note}
    return {
        "user": row.user,
        "book": row.book,
        "shelf": row.shelf,
        "stars": row.stars,
        "shelved_on": str(row.shelved_on),
        "started_on": row.started_on and str(row.started_on),
        "finished_on": row.finished_on and str(row.finished_on),
        "finished_precision": row.finished_precision,
        "sort_on": str(row.sort_on),
        "pages": row.pages,
        "earlier": row.earlier,
        "progress": progress,
        "is_public": row.is_public,
    }


def count_stars(halves: int | None) -> float | None:
    """Return a rating in stars, as JSON and pages show it: 7 -> 3.5."""
    return None if halves is None else halves / 2


def write_stars(halves: int) -> str:
    """Return a rating in stars as text: "4" or "3.5"."""
    return f"{halves / 2:g}"


def to_score(day: date) -> float:
    """Return the score of a date on a shelf: seconds since 1970, as readers of rankings compare dates."""
    return (day - EPOCH).total_seconds()


def find_public_entries() -> QuerySet[ShelfEntry]:
    """Return the entries of active readers on public shelves, as a query set."""
    restricted = Q(pk__in=[])
    for shelf, field in PRIVACY_FIELDS.items():
        restricted |= Q(entry_shelf=shelf) & ~Q(**{field: Privacy.PUBLIC})
    # One subquery for all shelves, which SQL runs once for each entry.
    of_entry = ShelfSettings.objects.annotate(entry_shelf=ExpressionWrapper(OuterRef("shelf"), CharField()))
    hidden = Exists(of_entry.filter(restricted, pk=OuterRef("user_id")))
    return ShelfEntry.objects.using(setting("DATABASE")).filter(~hidden, user__is_active=True)


def load_settings(user_ids: Sequence[int]) -> Mapping[str, Record]:
    """Return the records of readers with settings, by user id, in two queries."""
    database = setting("DATABASE")
    rows = ShelfSettings.objects.using(database).filter(pk__in=user_ids)
    found: dict[int, Record] = {}
    for row in rows:
        privacy = {shelf.value: getattr(row, field) for shelf, field in PRIVACY_FIELDS.items()}
        found[row.pk] = {"user": row.pk, "privacy": privacy, "goals": {}}
    goals = ReadingGoal.objects.using(database).filter(reader__in=list(found))
    for user_id, year, books in goals.values_list("reader_id", "year", "books"):
        found[user_id]["goals"][str(year)] = books
    return {str(user_id): record for user_id, record in found.items()}
