"""Iteration over all items of the login log in SQL, by keyset: dense ids, then days, then months of users."""

from collections.abc import Iterator
from datetime import date
from itertools import islice

from django.db.models import Q

from loginlog import days
from loginlog.models import DayBits, MonthBits, Number
from loginlog.storage import sql as store
from loginlog.storage.items import ERASED, POPULATION, DaySegment, DenseIdSegment, Item, LoginMonth
from loginlog.storage.tombstones import Known

DENSE_ID_KINDS = (ERASED, POPULATION)


def find_items_after(last: Item | None, limit: int, first: date = date.min) -> list[Item]:
    """Return the next ``limit`` items after ``last``, without months and days before ``first``."""
    return list(islice(_iterate_items(last, limit, first), limit))


def _iterate_items(last: Item | None, limit: int, first: date) -> Iterator[Item]:
    if last is None or isinstance(last, DenseIdSegment):
        yield from _iterate_dense_ids(last)
    if not isinstance(last, LoginMonth):
        yield from _find_days(last if isinstance(last, DaySegment) else None, limit, first)
    yield from _find_months(last if isinstance(last, LoginMonth) else None, limit, first)


def _iterate_dense_ids(last: DenseIdSegment | None) -> Iterator[Item]:
    start = -1 if last is None else last.segment * len(DENSE_ID_KINDS) + DENSE_ID_KINDS.index(last.kind)
    for place in range(start + 1, (store.find_last_segment() + 1) * len(DENSE_ID_KINDS)):
        yield DenseIdSegment(DENSE_ID_KINDS[place % len(DENSE_ID_KINDS)], place // len(DENSE_ID_KINDS))


def _find_days(last: DaySegment | None, limit: int, first: date) -> Iterator[Item]:
    rows = DayBits.objects.filter(day__gte=first).order_by("day", "user_type", "segment")
    if last is not None:
        rows = rows.filter(
            Q(day__gt=last.day)
            | Q(day=last.day, user_type__gt=last.user_type)
            | Q(day=last.day, user_type=last.user_type, segment__gt=last.segment),
            day__gte=last.day,
        )
    return (DaySegment(*name) for name in rows.values_list("day", "user_type", "segment")[:limit])


def _find_months(last: LoginMonth | None, limit: int, first: date) -> Iterator[Item]:
    rows = MonthBits.objects.filter(month__gte=first).exclude(number__user=None)
    if last is not None:
        number = Number.objects.filter(user_id=last.user_id).values_list("pk", flat=True).first() or 0
        rows = rows.filter(
            Q(month__gt=last.month)
            | Q(month=last.month, user_type__gt=last.user_type)
            | Q(month=last.month, user_type=last.user_type, number__gt=number),
            month__gte=last.month,
        )
    names = rows.order_by("month", "user_type", "number").values_list("month", "user_type", "number__user_id")
    return (LoginMonth(*name) for name in names[:limit])


def iterate_months(month: date, user_type: str, step: int) -> Iterator[dict[LoginMonth, Known]]:
    """Yield the bitmaps of all users in a month as users of one type, ``step`` at a time."""
    rows = MonthBits.objects.filter(month=month, user_type=user_type).exclude(number__user=None).order_by("number")
    last = 0
    while part := list(rows.filter(number__gt=last).values_list("number__user_id", "number_id", "bits")[:step]):
        last = part[-1][1]
        yield {LoginMonth(month, user_type, user): Known(number, bits) for user, number, bits in part}


def iterate_days(month: date, user_type: str, step: int) -> Iterator[dict[DaySegment, bytes]]:
    """Yield the segments of all days of a month of one type, day by day, at most ``step`` at a time."""
    for day in days.list_days(month, days.last_day_of_month(month)):
        rows, last = DayBits.objects.filter(day=day, user_type=user_type).order_by("segment"), -1
        while part := list(rows.filter(segment__gt=last).values_list("segment", "bits")[:step]):
            last = part[-1][0]
            yield {DaySegment(day, user_type, segment): bytes(bits) for segment, bits in part}
