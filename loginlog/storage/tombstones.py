"""Tombstones: bits of erased users and removed logins that must never be merged again. SQL has them."""

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import Any, Final, NamedTuple

from django.db.models import Q, QuerySet

from loginlog import days
from loginlog.models import Erased, Unmarked
from loginlog.storage import bitmaps
from loginlog.storage.bitmaps import SEGMENT
from loginlog.storage.items import DaySegment, DenseIdSegment, Item, LoginMonth

NO_BITS: Final = 0
ALL_BITS: Final = 0x7FFFFFFF


class Known(NamedTuple):
    """A month's bits with the user's dense id, because an erased user that returns gets another dense id."""

    number: int
    bits: int


class Tombstones(NamedTuple):
    """Erased and removed bits.

    ``erased``: dense ids by segment. ``of_days``: dense ids by day and segment. ``of_months``: days by dense id and
    month.
    """

    erased: Mapping[int, bytes]
    of_days: Mapping[tuple[date, int], bytes]
    of_months: Mapping[tuple[int, date], int]

    def filter_month(self, item: LoginMonth, known: Known) -> Known:
        """Return a user's month without erased and removed bits."""
        segment, place = divmod(known.number, SEGMENT)
        if _has_bit(self.erased.get(segment, b""), place):
            return known._replace(bits=NO_BITS)
        return known._replace(bits=known.bits & ~self.of_months.get((known.number, item.month), NO_BITS))

    def filter_segment(self, item: DaySegment, raw: bytes) -> bytes:
        """Return a segment without erased and removed bits."""
        gone = [self.erased.get(item.segment, b""), self.of_days.get((item.day, item.segment), b"")]
        return bitmaps.subtract(raw, bitmaps.union(gone))


def find_tombstones(of_users: Iterable[Known], of_days: Collection[DaySegment]) -> Tombstones:
    """Return the tombstones of these months and segments. Takes one statement, and one per segment of dense ids."""
    numbers = {known.number for known in of_users}
    segments = {item.segment for item in of_days}
    erased = find_erased(segments | {number // SEGMENT for number in numbers})
    rows = Unmarked.objects.in_force().filter(Q(number__in=numbers) | Q(day__in={item.day for item in of_days}))
    unmarked_days: dict[tuple[date, int], list[int]] = {}
    unmarked_months: dict[tuple[int, date], int] = {}
    for number, day in rows.values_list("number_id", "day"):
        unmarked_days.setdefault((day, number // SEGMENT), []).append(number % SEGMENT)
        month = number, days.month_of(day)
        unmarked_months[month] = unmarked_months.get(month, NO_BITS) | bitmaps.bit_of_day(day)
    return Tombstones(
        erased, {place: bitmaps.from_positions(found) for place, found in unmarked_days.items()}, unmarked_months
    )


def find_erased(wanted: Iterable[int]) -> dict[int, bytes]:
    """Return bitmaps of erased dense ids by segment, without empty ones."""
    return group_by_segment(Erased.objects.all(), wanted)


def group_by_segment(rows: QuerySet[Any], wanted: Iterable[int]) -> dict[int, bytes]:
    """Return the primary keys of these rows as bitmaps by segment, without empty ones."""
    found = {}
    for segment in wanted:
        start = segment * SEGMENT
        places = rows.filter(pk__gte=start, pk__lt=start + SEGMENT).values_list("pk", flat=True)
        if raw := bitmaps.from_positions(place - start for place in places):
            found[segment] = raw
    return found


def find_removals(items: Iterable[Item]) -> QuerySet[Unmarked]:
    """Return the removed logins that concern these items, including lifted ones.

    For items of dense ids these are all removed logins of their users.
    """
    condition = Q(pk__in=[])
    wanted = list(items)
    condition |= Q(day__in={item.day for item in wanted if isinstance(item, DaySegment)})
    condition |= Q(number__user_id__in={item.user_id for item in wanted if isinstance(item, LoginMonth)})
    for segment in {item.segment for item in wanted if isinstance(item, DenseIdSegment)}:
        condition |= Q(number_id__gte=segment * SEGMENT, number_id__lt=(segment + 1) * SEGMENT)
    return Unmarked.objects.filter(condition).select_related("number")


def _has_bit(raw: bytes, place: int) -> bool:
    byte, bit = divmod(place, 8)
    return byte < len(raw) and bool(raw[byte] & 128 >> bit)
