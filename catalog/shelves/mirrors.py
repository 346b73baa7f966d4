"""Mirrors of shelves. Both are strict: a shelf that was made private is private within seconds."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from django.db.models import Case, IntegerField, Q, When
from django.utils.translation import gettext_lazy as _

import mirror
from accounts.models import User
from catalog import keys
from catalog.shelves.models import (
    PRIVACY_FIELDS,
    EarlierReading,
    ReadingGoal,
    ReadingProgress,
    ShelfEntry,
    ShelfSettings,
)
from catalog.shelves.records import (
    SHELVES,
    EntryRow,
    Record,
    build_entry_key,
    build_entry_record,
    find_public_entries,
    load_entries,
    load_settings,
    to_score,
)
from common.database import pairs
from common.ids import parse_id, parse_ids
from mirror import Column, Contribution, Mirror, Ranking, Scored, SqlMembers, Watch
from mirror.conf import setting

PRIVACY_COLUMNS = tuple(PRIVACY_FIELDS.values())


def _parse_key(key: str) -> tuple[int, int] | None:
    """Return the ids of user and book in a key, or None for an invalid key."""
    user, book = map(parse_id, key.partition(":")[::2])
    return None if user is None or book is None else (user, book)


def _parse_keys(keys: Sequence[str]) -> list[tuple[int, int]]:
    return [pair for pair in map(_parse_key, keys) if pair]


def _find_next_entries(condition: Q, after: str | None, limit: int) -> list[str]:
    rows = ShelfEntry._base_manager.using(setting("DATABASE")).filter(condition)
    return pairs.list_next(rows, "user_id", "book_id", after, limit)


def find_entries_of_users(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next entries of these readers, by user and book."""
    return _find_next_entries(Q(user_id__in=list(map(int, values))), after, limit)


def _find_shelf_in_sql(values: Mapping[str, str]) -> SqlMembers:
    rows = ShelfEntry.objects.using(setting("DATABASE")).filter(user__is_active=True)
    return SqlMembers(rows.filter(user_id=values["user"], shelf=values["shelf"]), "book_id", "sort_on")


def _find_readers_in_sql(values: Mapping[str, str]) -> SqlMembers:
    positions = [When(shelf=shelf, then=number) for number, shelf in enumerate(SHELVES)]
    rows = find_public_entries().filter(book_id=values["book"])
    return SqlMembers(rows.annotate(position=Case(*positions, output_field=IntegerField())), "user_id", "position")


def _find_stars_in_sql(values: Mapping[str, str]) -> SqlMembers:
    return SqlMembers(find_public_entries().filter(book_id=values["book"]), "user_id", "stars")


@mirror.register
class ShelfEntryMirror(Mirror):
    """A book on a reader's shelf: a record, a place on the shelf and, for a public shelf, entries in the book's sets.

    The key is "<user>:<book>". Pages count the sets of a book's readers by score, so that the cost of a change does
    not depend on the number of readers.
    """

    name = "shelf_entry"
    label = _("books on shelves")
    model = ShelfEntry
    key = keys.shelf_entry("{pk}")
    strict = True
    indexes = (
        Ranking("shelf:{shelf}:{{{user}}}", owner="{user}:{member}", sql=_find_shelf_in_sql),  # keys.shelf_of
        Ranking("book:{{{book}}}:readers", owner="{member}:{book}", sql=_find_readers_in_sql),  # keys.readers_of
        Ranking("book:{{{book}}}:stars", owner="{member}:{book}", sql=_find_stars_in_sql),  # keys.stars_of
    )
    watches = (
        Watch(ShelfEntry, ("user_id", "book_id")),
        Watch(EarlierReading, ("user_id", "book_id"), only=("id",)),
        Watch(ReadingProgress, ("user_id", "book_id")),
        Watch(ShelfSettings, via=find_entries_of_users, only=PRIVACY_COLUMNS),
        Watch(User, via=find_entries_of_users, only=("is_active",), inserts=False),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, EntryRow]:
        return load_entries(_parse_keys(pks))

    def record(self, row: Any) -> Record:
        return build_entry_record(row)

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        user, book, stars = str(record["user"]), record["book"], record["stars"]
        yield Scored(keys.shelf_of(user, record["shelf"]), str(book), to_score(date.fromisoformat(record["sort_on"])))
        # Only public shelves count: a count of 1 would reveal the reader of a private one.
        if record["is_public"]:
            yield Scored(keys.readers_of(book), user, SHELVES.index(record["shelf"]))
            if stars:
                yield Scored(keys.stars_of(book), user, stars)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return _find_next_entries(Q(), after, limit)

    def pk_of(self, key: str) -> str | None:
        start = self.record_key("")
        pk = key.removeprefix(start)
        pair = _parse_key(pk) if key.startswith(start) else None
        # "007:5" is no name of an entry, although its parts are numbers.
        return pk if pair and build_entry_key(*pair) == pk else None


@mirror.register
class EarlierReadingMirror(Mirror):
    """The dates of a reader's earlier finished readings. The latest reading of a book is in its entry."""

    name = "earlier_reading"
    label = _("earlier readings")
    model = EarlierReading
    key = keys.earlier_reading("{pk}")
    strict = True
    fields = (Column("user_id", name="user"), "finished_on")
    where = Q(is_finished=True, finished_on__isnull=False, user__is_active=True)
    indexes = (Ranking("uid:{{{user}}}:readings", score="finished_on"),)  # keys.readings_of


@mirror.register
class ShelfSettingsMirror(Mirror):
    """The privacy of a reader's shelves, and the reader's yearly goals."""

    name = "shelf_settings"
    model = ShelfSettings
    key = keys.shelf_settings("{pk}")
    strict = True
    watches = (Watch(ShelfSettings), Watch(ReadingGoal, "reader_id"))

    def load(self, pks: Sequence[str]) -> Mapping[str, Record]:
        return load_settings(parse_ids(pks))

    def record(self, row: Any) -> Record:
        return dict(row)
