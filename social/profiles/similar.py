"""Readers with similar taste: those with the most books in common on public shelves.

A task computes them once a day, in memory: SQL took ten times as long to join readers. Private accounts and shelves
that are not public take no part, because the number of books in common would tell what is on them. Accounts of staff
are not suggested.
"""

from collections import Counter
from collections.abc import Collection
from typing import Any, Final, NamedTuple

import numpy as np
from django.db import IntegrityError, transaction

import mirror
from accounts.mirrors import users
from accounts.models import User
from catalog.shelves.records import find_public_entries
from common.database import repeat_after_conflict, split_slices
from social import keys
from social.mirrors.edges import FollowMirror
from social.mirrors.profiles import SimilarMirror
from social.models import SimilarReaders
from social.relations.profiles import Person, find_people

MIN_BOOKS: Final = 3  # in common
MAX_STORED: Final = 30  # readers, of whom a page leaves out followed and hidden ones
MAX_SHOWN: Final = 10
# A book that more readers have tells little about taste, and would pair all of them.
MAX_READERS: Final = 500
ROWS_PER_QUERY: Final = 20_000
IntArray = np.ndarray[Any, np.dtype[np.int64]]


class Similar(NamedTuple):
    """A reader, and the number of books in common with the viewer at the time of the daily run.

    The pages do not show it, because it may be outdated; their JSON has it.
    """

    person: Person
    books: int


def find_similar_readers(viewer: int, left_out: Collection[int] = ()) -> list[Similar]:
    """Return readers with similar taste whom the viewer does not follow, best first, without the ids ``left_out``.

    Warm mirrors answer in 2 round trips and no SQL.
    """
    record = SimilarMirror.get(viewer)
    found = dict(record["readers"]) if record else {}
    ids = [pk for pk in found if pk not in left_out]
    if not ids:
        return []
    with mirror.together() as reads:
        followed = reads(FollowMirror.filter_members, keys.following(viewer), ids)
        people = reads(find_people, viewer, ids)
        records = reads(users.UserMirror.get_many, ids)
    # Asked again: an account may have become private since the day's run.
    private = {pk for pk, user in records.value.items() if user["is_private"] == "1"}
    refused = followed.value | private
    return [Similar(one, found[one.id]) for one in people.value if one.id not in refused][:MAX_SHOWN]


def rebuild_similar_readers() -> int:
    """Compute the readers with similar taste of all readers. Return the number of changed rows.

    Interrupted and concurrent runs are safe: each slice is one transaction, and unchanged rows are not written.
    """
    shelves = _PublicShelves()
    changed = last = 0
    for ids in split_slices(shelves.books):
        found = {pk: rows for pk in ids if (rows := shelves.find_similar(pk))}
        try:
            changed += _write_slice(last, ids[-1], found)
        except IntegrityError:  # a reader was deleted since the shelves were read
            present = User.objects.filter(pk__in=ids).values_list("pk", flat=True)
            changed += _write_slice(last, ids[-1], {pk: found[pk] for pk in present if pk in found})
        last = ids[-1]
    changed += SimilarReaders.objects.filter(pk__gt=last).delete()[0]
    return changed


class _PublicShelves:
    """The books on all public shelves, read once. An entry takes 32 bytes.

    books: the books of each reader, in ascending order of the readers' ids. readers: the readers of each book, without
    staff and books that too many have.
    """

    def __init__(self) -> None:
        entries = find_public_entries().filter(user__is_private=False).order_by("pk")
        rows = entries.values_list("pk", "user_id", "book_id", "user__is_staff")
        parts, last = [np.zeros((0, 4), np.int64)], 0
        while some := list(rows.filter(pk__gt=last)[:ROWS_PER_QUERY]):
            parts.append(np.array(some, np.int64))
            last = some[-1][0]
        _, user, book, is_staff = np.concatenate(parts).T
        self.books = _group(user, book)
        readers = _group(book[is_staff == 0], user[is_staff == 0])
        popular = {pk for pk, number in Counter(book.tolist()).items() if number > MAX_READERS}
        self.readers = {pk: found for pk, found in readers.items() if pk not in popular}

    def find_similar(self, reader: int) -> list[list[int]]:
        """Return the most similar readers, best first, as pairs of id and number of books."""
        found = [self.readers[book] for book in self.books[reader].tolist() if book in self.readers]
        if not found:
            return []
        ids, counts = np.unique(np.concatenate(found), return_counts=True)
        similar = (counts >= MIN_BOOKS) & (ids != reader)
        ids, counts = ids[similar], counts[similar]
        best = np.lexsort((ids, -counts))[:MAX_STORED]
        return np.column_stack((ids[best], counts[best])).tolist()


def _group(owners: IntArray, values: IntArray) -> dict[int, IntArray]:
    """Return the values of each owner, in ascending order of the owners."""
    if not len(owners):
        return {}
    order = np.argsort(owners, kind="stable")
    found, starts = np.unique(owners[order], return_index=True)
    return dict(zip(found.tolist(), np.split(values[order], starts[1:]), strict=True))


@repeat_after_conflict
def _write_slice(after: int, last: int, found: dict[int, list[list[int]]]) -> int:
    """Make ``found`` the rows of all readers between these ids. Return the number of changed rows."""
    with transaction.atomic():
        slice_rows = SimilarReaders.objects.filter(pk__gt=after, pk__lte=last)
        old = dict(slice_rows.values_list("pk", "readers"))
        changed = [SimilarReaders(pk=pk, readers=rows) for pk, rows in found.items() if old.get(pk) != rows]
        SimilarReaders.objects.bulk_create(
            changed, update_conflicts=True, unique_fields=["user"], update_fields=["readers"]
        )
        gone = old.keys() - found.keys()
        slice_rows.filter(pk__in=gone).delete()
    return len(changed) + len(gone)
