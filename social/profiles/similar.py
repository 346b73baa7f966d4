"""Readers with similar taste: those with the most books in common on public shelves.

SQL computes them once a day, slice by slice. Private accounts and shelves that are not public take no part, because
the number of books in common would tell what is on them. Accounts of staff are not suggested.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from django.db import IntegrityError, connections, transaction
from django.db.models import Count, QuerySet

import mirror
from accounts.mirrors import users
from catalog.shelves.models import ShelfEntry
from catalog.shelves.records import find_public_entries
from common.database import repeat_after_conflict
from mirror.conf import database
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
READERS_PER_SLICE: Final = 100
_SELECT_PAIRS: Final = """
    SELECT mine.user_id, other.user_id, COUNT(*)
      FROM ({mine}) AS mine JOIN ({other}) AS other ON other.book_id = mine.book_id AND other.user_id <> mine.user_id
     GROUP BY mine.user_id, other.user_id HAVING COUNT(*) >= {least}
     ORDER BY 1, 3 DESC, 2
"""


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
    popular = _entries().values("book_id").annotate(readers=Count("pk")).filter(readers__gt=MAX_READERS)
    entries = _entries().exclude(book_id__in=list(popular.values_list("book_id", flat=True)))
    changed = last = 0
    while ids := _find_next_readers(entries, last):
        try:
            changed += _write_slice(last, ids, _find_similar(entries, ids))
        # A reader was deleted meanwhile. The second attempt does not see the reader.
        except IntegrityError:
            changed += _write_slice(last, ids, _find_similar(entries, ids))
        last = ids[-1]
    changed += SimilarReaders.objects.filter(pk__gt=last).delete()[0]
    return changed


def _entries() -> QuerySet[ShelfEntry]:
    return find_public_entries().filter(user__is_private=False)


def _find_next_readers(entries: QuerySet[ShelfEntry], after: int) -> list[int]:
    found = entries.filter(user_id__gt=after).order_by("user_id").values_list("user_id", flat=True).distinct()
    return list(found[:READERS_PER_SLICE])


def _find_similar(entries: QuerySet[ShelfEntry], ids: Sequence[int]) -> dict[int, list[list[int]]]:
    """Return, by reader, the most similar readers as pairs of id and number of books."""
    mine, own_values = _compile(entries.filter(user_id__in=ids))
    other, values = _compile(entries.filter(user__is_staff=False))
    found: dict[int, list[list[int]]] = defaultdict(list)
    with connections[database()].cursor() as cursor:
        cursor.execute(_SELECT_PAIRS.format(mine=mine, other=other, least=MIN_BOOKS), [*own_values, *values])
        for reader, similar, books in cursor.fetchall():
            if len(found[reader]) < MAX_STORED:
                found[reader].append([similar, books])
    return found


def _compile(entries: QuerySet[ShelfEntry]) -> tuple[str, Sequence[Any]]:
    sql, values = entries.order_by().values("user_id", "book_id").query.get_compiler(using=database()).as_sql()
    return sql, values


@repeat_after_conflict
def _write_slice(after: int, ids: Sequence[int], found: dict[int, list[list[int]]]) -> int:
    """Write the rows of these readers, and delete those between the slices. Return the number of changed rows."""
    with transaction.atomic():
        slice_rows = SimilarReaders.objects.filter(pk__gt=after, pk__lte=ids[-1])
        old = dict(slice_rows.values_list("pk", "readers"))
        changed = [SimilarReaders(pk=pk, readers=rows) for pk, rows in found.items() if old.get(pk) != rows]
        SimilarReaders.objects.bulk_create(
            changed, update_conflicts=True, unique_fields=["user"], update_fields=["readers"]
        )
        gone = old.keys() - found.keys()
        slice_rows.filter(pk__in=gone).delete()
    return len(changed) + len(gone)
