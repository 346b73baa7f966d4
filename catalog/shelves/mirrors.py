"""Mirrors of shelves. Both are strict: a shelf that was made private is private within seconds."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Q

import mirror
from accounts.models import User
from catalog import keys
from catalog.shelves.models import PRIVACY_FIELDS, ReadingGoal, ShelfEntry, ShelfSettings
from catalog.shelves.records import (
    SHELVES,
    EntryRow,
    Record,
    entry_key,
    entry_record,
    load_entries,
    load_settings,
    position,
)
from mirror import Contribution, Family, Mirror, Scored, Watch
from mirror.conf import setting

PRIVACY_COLUMNS = tuple(PRIVACY_FIELDS.values())


def _pair(key: str) -> tuple[int, int] | None:
    """Return the ids of user and book in a key, or None for an invalid key."""
    user, _, book = key.partition(":")
    is_key = user.isascii() and book.isascii() and user.isdecimal() and book.isdecimal()
    return (int(user), int(book)) if is_key and max(len(user), len(book)) < 19 else None


def _pairs(keys: Sequence[str]) -> list[tuple[int, int]]:
    return [pair for pair in map(_pair, keys) if pair]


def _next_entries(condition: Q, after: str | None, limit: int) -> list[str]:
    rows = ShelfEntry._base_manager.using(setting("DATABASE")).filter(condition)
    if after is not None and (pair := _pair(after)):
        rows = rows.filter(Q(user_id__gt=pair[0]) | Q(user_id=pair[0], book_id__gt=pair[1]))
    found = rows.order_by("user_id", "book_id").values_list("user_id", "book_id")[:limit]
    return [entry_key(user, book) for user, book in found]


def entries_of_users(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next entries of these readers, by user and book."""
    return _next_entries(Q(user_id__in=list(map(int, values))), after, limit)


@mirror.register
class ShelfEntryMirror(Mirror):
    """A book on a reader's shelf: a record, a place on the shelf and, for a public shelf, entries in the book's sets.

    The key is "<user>:<book>". Pages count the sets of a book's readers by score, so that the cost of a change does
    not depend on the number of readers.
    """

    name = "shelf_entry"
    model = ShelfEntry
    strict = True
    watches = (
        Watch(ShelfEntry, ("user_id", "book_id")),
        Watch(ShelfSettings, via=entries_of_users, only=PRIVACY_COLUMNS),
        Watch(User, via=entries_of_users, only=("is_active",), updates=True),
    )

    def key(self, pk: str) -> str:
        return keys.shelf_entry(pk)

    def load(self, pks: Sequence[str]) -> Mapping[str, EntryRow]:
        return load_entries(_pairs(pks))

    def record(self, row: Any) -> Record:
        return entry_record(row)

    def index(self, record: Record) -> Iterable[Contribution]:
        user, book, stars = str(record["user"]), record["book"], record["stars"]
        yield Scored(keys.shelf_of(user, record["shelf"]), position(record["sort_on"], book), 0)
        if record["is_public"]:
            yield Scored(keys.readers_of(book), user, SHELVES.index(record["shelf"]))
            if stars:
                yield Scored(keys.stars_of(book), user, stars)

    def families(self) -> Sequence[Family]:
        start = keys.readers_of("\0").partition("\0")[0]
        return (
            Family(keys.shelf_of("", "").partition(":")[0] + ":", "zset", _entry_on_shelf),
            *(
                Family(start, "zset", _entry_of_book, end=of("\0").partition("\0")[2])
                for of in (keys.readers_of, keys.stars_of)
            ),
        )

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return _next_entries(Q(), after, limit)

    def pk_of(self, key: str) -> str | None:
        start = self.key("")
        pk = key.removeprefix(start)
        pair = _pair(pk) if key.startswith(start) else None
        return pk if pair and entry_key(*pair) == pk else None


def _entry_on_shelf(key: str, member: str) -> str:
    return f"{key.rpartition('{')[2].removesuffix('}')}:{member.rpartition(' ')[2].lstrip('0')}"


def _entry_of_book(key: str, member: str) -> str:
    return f"{member}:{key.partition('{')[2].partition('}')[0]}"


@mirror.register
class ShelfSettingsMirror(Mirror):
    """The privacy of a reader's shelves, and the reader's yearly goals."""

    name = "shelf_settings"
    model = ShelfSettings
    strict = True
    watches = (Watch(ShelfSettings), Watch(ReadingGoal, "reader_id"))

    def key(self, pk: str) -> str:
        return keys.shelf_settings(pk)

    def load(self, pks: Sequence[str]) -> Mapping[str, Record]:
        return load_settings([int(pk) for pk in pks if pk.isascii() and pk.isdecimal()])

    def record(self, row: Any) -> Record:
        return dict(row)
