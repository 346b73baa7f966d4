"""Marks while Redis is away: straight to SQL, and Redis is owed them."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from django.db import transaction

from loginlog import bitmaps, store
from loginlog.bitmaps import SEGMENT
from loginlog.items import Month, Segment
from loginlog.models import Owed


class Mark(NamedTuple):
    """A login: whose (id, and number in the bitmaps), as what, and when."""

    user_id: int
    number: int
    user_type: str
    day: date


class _Owing:
    """Whether Redis is owed something that this process wrote: its readers ask SQL too, until it is paid."""

    maybe = False

    def __bool__(self) -> bool:
        if self.maybe:
            self.maybe = Owed.objects.exists()
        return self.maybe


owing = _Owing()


def write(marks: Iterable[Mark]) -> None:
    """Write these logins to SQL, all or none."""
    months: dict[Month, store.Known] = {}
    places: dict[Segment, set[int]] = defaultdict(set)
    for mark in marks:
        item = Month(mark.day.replace(day=1), mark.user_type, mark.user_id)
        bits = bitmaps.bit_of(mark.day) | (months[item].bits if item in months else 0)
        months[item] = store.Known(mark.number, bits)
        places[Segment(mark.day, mark.user_type, mark.number // SEGMENT)].add(mark.number % SEGMENT)
    merge(months, {item: bitmaps.of_numbers(numbers) for item, numbers in places.items()})


def merge(of_users: dict[Month, store.Known], of_days: dict[Segment, bytes]) -> None:
    """Merge bitmaps into SQL, and note that Redis has to get them."""
    with transaction.atomic():
        store.merge(of_users, of_days)
        names = [*(item.name for item in of_days), *(item.name for item in of_users)]
        Owed.objects.bulk_create([Owed(item=name) for name in names], batch_size=500)
    owing.maybe = True
