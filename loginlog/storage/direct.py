"""Marks that are written to SQL while Redis is away. Redis gets them later (``loginlog.corrections.settling``)."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from django.db import transaction

from common.database import repeat_after_conflict
from loginlog.models import Owed
from loginlog.storage import bitmaps
from loginlog.storage import sql as store
from loginlog.storage.bitmaps import SEGMENT
from loginlog.storage.items import DaySegment, LoginMonth
from loginlog.storage.tombstones import Known


class Mark(NamedTuple):
    """A login: the user's id and dense id, the user's type at that time, and the day."""

    user_id: int
    number: int
    user_type: str
    day: date


class _OwedToRedis:
    """True while Redis may lack bitmaps that this process wrote to SQL. Until then its readers ask SQL as well."""

    maybe = False

    def __bool__(self) -> bool:
        if self.maybe:
            self.maybe = Owed.objects.exists()
        return self.maybe


owed_to_redis = _OwedToRedis()


def write_marks(marks: Iterable[Mark]) -> None:
    """Write these logins to SQL in one transaction."""
    months: dict[LoginMonth, Known] = {}
    places: dict[DaySegment, set[int]] = defaultdict(set)
    for mark in marks:
        item = LoginMonth(mark.day.replace(day=1), mark.user_type, mark.user_id)
        bits = bitmaps.bit_of_day(mark.day) | (months[item].bits if item in months else 0)
        months[item] = Known(mark.number, bits)
        places[DaySegment(mark.day, mark.user_type, mark.number // SEGMENT)].add(mark.number % SEGMENT)
    merge_bitmaps(months, {item: bitmaps.from_positions(numbers) for item, numbers in places.items()})


@repeat_after_conflict
def merge_bitmaps(of_users: dict[LoginMonth, Known], of_days: dict[DaySegment, bytes]) -> None:
    """Merge bitmaps into SQL, and record that Redis lacks them."""
    with transaction.atomic():
        store.merge_bitmaps(of_users, of_days)
        names = [*(item.name for item in of_days), *(item.name for item in of_users)]
        Owed.objects.bulk_create([Owed(item=name) for name in names], batch_size=500)
    owed_to_redis.maybe = True
