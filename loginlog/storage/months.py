"""Login months in SQL."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
from django.db import connections, transaction
from django.db.models import F, Max
from numpy.typing import NDArray

from common.database import repeat_after_conflict
from loginlog import days
from loginlog.models import LoginMonth, LoginMonthQuerySet
from loginlog.names import MonthName
from loginlog.storage import bitmaps, numbers
from mirror.conf import database, setting
from mirror.utils import arrays

ROWS_PER_STATEMENT: Final = 1000
ALL_BITS: Final = 0x7FFFFFFF
# The join leaves out users that were deleted meanwhile, and on PostgreSQL the lock keeps the others until the commit.
_MERGE: Final = """
    INSERT INTO loginlog_loginmonth (name, user_id, number_id, month, user_type, bits, is_expired)
    SELECT given.name, u.id, n.id, given.month, given.user_type, given.bits, FALSE
      FROM {given} JOIN accounts_user u ON u.id = given.user_id JOIN loginlog_number n ON n.user_id = u.id
     WHERE TRUE ORDER BY given.name {lock}
    ON CONFLICT (name) DO UPDATE
       SET bits = loginlog_loginmonth.bits | excluded.bits,
           is_expired = loginlog_loginmonth.is_expired AND {stays_expired}
     WHERE loginlog_loginmonth.bits | excluded.bits <> loginlog_loginmonth.bits
        OR (loginlog_loginmonth.is_expired AND NOT {stays_expired})
"""
_TYPES: Final = {"name": "text", "user_id": "bigint", "month": "date", "user_type": "text", "bits": "integer"}


class Group(NamedTuple):
    """The months of all users of one type: their dense ids and bits, in the same order."""

    month: date
    user_type: str
    numbers: NDArray[np.int64]
    bits: NDArray[np.int64]

    def find_active(self, first: date, last: date) -> NDArray[np.int64]:
        """Return the dense ids of users with a login from ``first`` to ``last``."""
        mask = sum(bitmaps.bit_of_day(day) for day in days.list_days_of_month(self.month, first, last))
        found: NDArray[np.int64] = self.numbers[(self.bits & mask) != 0]
        return found


@repeat_after_conflict
def merge(found: Mapping[MonthName, int], *, brings_back: bool = False) -> int:
    """Add these bits to the months of existing users. Return the number of changed months.

    brings_back: an expired month returns to Redis.
    """
    rows = []
    for name, bits in found.items():
        rows.append((str(name), name.user_id, str(name.month), name.user_type, bits))
    changed = 0
    for at in range(0, len(rows), ROWS_PER_STATEMENT):
        part = rows[at : at + ROWS_PER_STATEMENT]
        merged = _merge_rows(part, brings_back)
        # Unchanged rows do not count, and users without a dense id were left out. Dense ids are added only now, because
        # nearly every login is of a user who has one.
        if merged < len(part):
            numbers.add_missing(user_id for _, user_id, _, _, _ in part)
            merged += _merge_rows(part, brings_back)
        changed += merged
    return changed


def _merge_rows(rows: Sequence[tuple[str, int, str, str, int]], brings_back: bool) -> int:
    """Merge rows of users with a dense id. Return the number of changed months."""
    connection = connections[setting("DATABASE")]
    lock = "FOR KEY SHARE OF u" if connection.features.has_select_for_update else ""
    given, parameters = arrays.make_table(_TYPES, rows)
    with connection.cursor() as cursor:
        stays_expired = "FALSE" if brings_back else "TRUE"
        cursor.execute(_MERGE.format(given=given, lock=lock, stays_expired=stays_expired), parameters)
        changed: int = cursor.rowcount
    return changed


@repeat_after_conflict
def merge_new(found: Mapping[MonthName, int]) -> int:
    """Add these bits like ``merge``. Return the number of logins that are new."""
    with transaction.atomic(using=setting("DATABASE")):
        # Read before and after in one transaction: a merge reports changed months, and not new logins.
        before = _read_bits(found)
        merge(found)
        after = _read_bits(found)
    return sum((bits & ~before.get(name, 0)).bit_count() for name, bits in after.items())


def _read_bits(names: Collection[MonthName]) -> dict[str, int]:
    texts = [str(name) for name in names]
    found: dict[str, int] = {}
    for at in range(0, len(texts), ROWS_PER_STATEMENT):
        rows = _query().filter(pk__in=texts[at : at + ROWS_PER_STATEMENT])
        found.update(rows.values_list("name", "bits"))
    return found


def count_known(names: Collection[MonthName]) -> int:
    """Return how many of these months SQL has."""
    return len(_read_bits(names))


@repeat_after_conflict
def remove(user_id: int, day: date) -> list[str]:
    """Remove a user's logins of a day, of every type. Return the names of the months that had one."""
    bit = bitmaps.bit_of_day(day)
    rows = _query().filter(user_id=user_id, month=days.month_of(day))
    with transaction.atomic(using=setting("DATABASE")):
        locked = rows.select_for_update().values_list("name", "bits")
        names = [name for name, bits in locked if bits & bit]
        if names:
            rows.filter(pk__in=names).update(bits=F("bits").bitand(ALL_BITS & ~bit))
            rows.filter(pk__in=names, bits=0).delete()
    return names


def read_of_user(user_id: int, first: date, last: date, *, expired_only: bool) -> dict[date, int]:
    """Return the bits of a user's months of all types, by month, from that of ``first`` to that of ``last``."""
    rows = _query(database()).filter(user_id=user_id, month__gte=days.month_of(first), month__lte=last)
    found: dict[date, int] = defaultdict(int)
    for month, bits in _narrow(rows, expired_only).values_list("month", "bits"):
        found[month] |= bits
    return found


def read_groups(first: date, last: date, types: Collection[str], *, expired_only: bool) -> Iterator[Group]:
    """Yield the months with a day from ``first`` to ``last``, a group for each month and type."""
    rows = _query(database()).filter(month__gte=days.month_of(first), month__lte=last, user_type__in=types)
    ordered = _narrow(rows, expired_only).order_by("month", "user_type")
    found = ordered.values_list("month", "user_type", "number_id", "bits").iterator(chunk_size=10_000)
    for (month, user_type), rows_of_group in groupby(found, itemgetter(0, 1)):
        # Straight into one array: a month of a large site has a million rows.
        pairs = np.fromiter(chain.from_iterable(row[2:] for row in rows_of_group), dtype=np.int64)
        yield Group(month, user_type, pairs[::2], pairs[1::2])


def _narrow(rows: LoginMonthQuerySet, expired_only: bool) -> LoginMonthQuerySet:
    rows = rows.with_logins()
    return rows.filter(is_expired=True) if expired_only else rows


def find_limits() -> tuple[date, date] | None:
    """Return the first days of the first and the last month with a login, or None."""
    found = _query(database()).values_list("month", flat=True)
    # Two queries, because SQLite uses the index for MIN or for MAX, but not for both in one query.
    first, last = found.order_by("month").first(), found.order_by("-month").first()
    return None if first is None or last is None else (first, last)


def find_first_day() -> date | None:
    """Return the first day with a login, or None."""
    limits = find_limits()
    if limits is None:
        return None
    # The first day of a month is its highest bit.
    bits = _query(database()).filter(month=limits[0]).aggregate(most=Max("bits"))["most"]
    return bitmaps.list_days(limits[0], bits)[0]


def iterate_month(month: date, step: int, **conditions: Any) -> Iterator[list[tuple[str, int]]]:
    """Yield the names and bits of a month's rows, ``step`` at a time, by type and name."""
    rows = _query().filter(month=month, **conditions).order_by("user_type", "name")
    for user_type in list(rows.values_list("user_type", flat=True).order_by("user_type").distinct()):
        of_type, last = rows.filter(user_type=user_type), ""
        while part := list(of_type.filter(name__gt=last).values_list("name", "bits")[:step]):
            last = part[-1][0]
            yield part


def _query(using: str | None = None) -> LoginMonthQuerySet:
    return LoginMonth.objects.using(using or setting("DATABASE"))
