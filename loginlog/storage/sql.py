"""The login log in SQL: reading bitmaps, and merging them by OR without erased and removed bits."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from typing import Final

from django.db import connection, transaction
from django.db.models import Max, Min

from common.database import repeat_after_conflict
from loginlog.models import DayBits, Erased, MonthBits, Number, Unmarked
from loginlog.storage import bitmaps, tombstones
from loginlog.storage.bitmaps import SEGMENT
from loginlog.storage.items import ERASED, DaySegment, DenseIdSegment, LoginMonth
from loginlog.storage.tombstones import Known

ROWS_PER_STATEMENT: Final = 500  # rows per statement
_TABLE: Final = MonthBits._meta.db_table


def read_months(items: Collection[LoginMonth]) -> dict[LoginMonth, Known]:
    """Return the bits of these months in SQL, without empty ones. Takes one statement per 500 items."""
    found, asked = {}, list(items)
    for at in range(0, len(asked), ROWS_PER_STATEMENT):
        part = set(asked[at : at + ROWS_PER_STATEMENT])
        rows = MonthBits.objects.filter(
            number__user_id__in={item.user_id for item in part},
            month__in={item.month for item in part},
            user_type__in={item.user_type for item in part},
        )
        for month, kind, user, number, bits in rows.values_list(
            "month", "user_type", "number__user_id", "number_id", "bits"
        ):
            if bits and LoginMonth(month, kind, user) in part:
                found[LoginMonth(month, kind, user)] = Known(number, bits)
    return found


def read_segments(items: Collection[DaySegment], *, lock: bool = False) -> dict[DaySegment, bytes]:
    """Return the bitmaps of these segments in SQL, without missing ones. Takes one statement per 500 items.

    ``lock`` locks the rows until the end of the transaction.
    """
    found, asked = {}, sorted(items)
    for at in range(0, len(asked), ROWS_PER_STATEMENT):
        part = set(asked[at : at + ROWS_PER_STATEMENT])
        rows = DayBits.objects.filter(
            day__in={item.day for item in part},
            user_type__in={item.user_type for item in part},
            segment__in={item.segment for item in part},
        ).order_by("day", "user_type", "segment")
        if lock:
            rows = rows.select_for_update()
        for day, kind, segment, bits in rows.values_list("day", "user_type", "segment", "bits"):
            item = DaySegment(day, kind, segment)
            if item in part:
                found[item] = bytes(bits)
    return found


@repeat_after_conflict
def merge_bitmaps(of_users: Mapping[LoginMonth, Known], of_days: Mapping[DaySegment, bytes]) -> None:
    """OR these bitmaps into SQL in one transaction, without erased and removed bits.

    Merges exclude erasures and removals: each waits for the other's commit.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":  # SQLite has only one writer at a time
            tables = ", ".join(model._meta.db_table for model in (Erased, Unmarked))
            with connection.cursor() as cursor:
                cursor.execute(f"LOCK TABLE {tables} IN SHARE MODE")
        gone = tombstones.find_tombstones(of_users.values(), of_days)
        _merge_months({item: gone.filter_month(item, known) for item, known in of_users.items()})
        _merge_segments({item: gone.filter_segment(item, raw) for item, raw in of_days.items()})


def read_dense_ids(items: Iterable[DenseIdSegment]) -> dict[DenseIdSegment, bytes]:
    """Return these bitmaps of dense ids from SQL, without empty ones.

    The bitmap of erased dense ids has only those for which Redis is clean; the months of the others must be removed
    there first (``erasure.clean``).
    """
    found: dict[DenseIdSegment, bytes] = {}
    for kind in {item.kind for item in items}:
        rows = Erased.objects.filter(user_pk=None) if kind == ERASED else Number.objects.exclude(user=None)
        parts = tombstones.group_by_segment(rows, [item.segment for item in items if item.kind == kind])
        found |= {DenseIdSegment(kind, segment): raw for segment, raw in parts.items()}
    return found


def _merge_months(found: Mapping[LoginMonth, Known]) -> None:
    """OR months into their rows in one step. Django's ``update_conflicts`` could only assign values."""
    wanted = ((item, known) for item, known in found.items() if known.bits)
    rows = sorted((known.number, str(item.month), item.user_type, known.bits) for item, known in wanted)
    with connection.cursor() as cursor:
        for at in range(0, len(rows), ROWS_PER_STATEMENT):
            part = rows[at : at + ROWS_PER_STATEMENT]
            cursor.execute(
                f"INSERT INTO {_TABLE} (number_id, month, user_type, bits) "
                f"VALUES {', '.join(['(%s, %s, %s, %s)'] * len(part))} "
                "ON CONFLICT (number_id, month, user_type) "
                f"DO UPDATE SET bits = {_TABLE}.bits | excluded.bits "
                f"WHERE {_TABLE}.bits | excluded.bits <> {_TABLE}.bits",
                [value for row in part for value in row],
            )


def _merge_segments(found: Mapping[DaySegment, bytes]) -> None:
    """OR segments into their rows. Missing rows are created first, so that all of them can be locked and read."""
    wanted = {item: raw for item, raw in sorted(found.items()) if raw}
    missing = [DayBits(**item._asdict()) for item in wanted.keys() - read_segments(wanted).keys()]
    missing.sort(key=lambda row: (row.day, row.user_type, row.segment))
    DayBits.objects.bulk_create(missing, ROWS_PER_STATEMENT, ignore_conflicts=True)
    had = read_segments(wanted, lock=True)
    merged = {item: bitmaps.union([raw, had[item]]) for item, raw in wanted.items()}
    DayBits.objects.bulk_create(
        [DayBits(**item._asdict(), bits=raw) for item, raw in merged.items() if raw != had[item]],
        ROWS_PER_STATEMENT,
        update_conflicts=True,
        unique_fields=["day", "user_type", "segment"],
        update_fields=["bits"],
    )


def read_months_of_user(user_id: int, first: date, last: date) -> Iterator[tuple[date, int]]:
    """Return a user's months (their first days) from ``first`` to ``last`` with their bits, one item per type."""
    rows = MonthBits.objects.filter(number__user_id=user_id, month__gte=first, month__lte=last)
    return iter(rows.values_list("month", "bits"))


def read_days(first: date, last: date, types: Collection[str]) -> Iterator[tuple[DaySegment, bytes]]:
    """Yield every segment of these days and types in SQL, ordered by segment."""
    rows = DayBits.objects.filter(day__gte=first, day__lte=last, user_type__in=types).order_by("segment")
    for day, kind, segment, bits in rows.values_list("day", "user_type", "segment", "bits").iterator(chunk_size=200):
        yield DaySegment(day, kind, segment), bytes(bits)


def find_first_day() -> date | None:
    """Return the first day with a login in SQL, or None."""
    found: date | None = DayBits.objects.exclude(bits=b"").aggregate(first=Min("day"))["first"]
    return found


def read_population() -> bytes:
    """Return the bitmap of all dense ids that were not erased."""
    return bitmaps.from_positions(Number.objects.exclude(user=None).values_list("pk", flat=True).iterator())


def find_last_segment() -> int:
    """Return the segment of the highest dense id."""
    return int(Number.objects.aggregate(last=Max("pk"))["last"] or 0) // SEGMENT
