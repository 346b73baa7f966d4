"""Who was here when: Redis first, SQL for what Redis does not have (any more), OR-ed for each bitmap.

Days are dates in the site's time zone, and both ends of a range belong to it. ValueError: a range that ends before it
begins, or of more than a hundred years. Users are given as ``User`` or as an id. What one process marked another sees
at once.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from accounts.models import User
from loginlog import bitmaps, days, keys, reading, store
from loginlog.items import parse_member
from loginlog.models import Number
from loginlog.ranges import EARLIEST
from loginlog.reading import Span as Span
from mirror.redis import RedisError, breaker, client

STEP: Final = 1000  # users a statement


class ActiveUser(NamedTuple):
    """A user who logged in, with the number under which the log knows them."""

    number: int
    id: int
    name: str


class ActivePage(NamedTuple):
    """A page of active users. after: the number with which the next page goes on; None: there is none."""

    users: list[ActiveUser]
    after: int | None
    total: int


def logged_in_on(user: User | int, day: date) -> bool:
    """Whether a user logged in on a day."""
    return logged_in_between(user, day, day)


def logged_in_in_month(user: User | int, month: date) -> bool:
    """Whether a user logged in in the month in which the date ``month`` lies."""
    return logged_in_between(user, days.month_of(month), days.last_of(month))


def logged_in_between(user: User | int, first: date, last: date) -> bool:
    """Whether a user logged in on one of these days."""
    return bool(login_days(user, first, last))


def login_days(user: User | int, first: date, last: date) -> list[date]:
    """The days on which a user logged in (as whatever type), ascending. One round trip."""
    found = reading.months(user if isinstance(user, int) else user.pk, first, last)
    return [
        day for month, bits in sorted(found.items()) for day in bitmaps.days_of(month, bits) if first <= day <= last
    ]


def active(user_type: str, first: date, last: date) -> Iterator[int]:
    """The ids of the users who logged in on one of these days as users of this type, each once, by their number."""
    return user_ids(unions([Span(first, last, user_type)])[0])


def active_any(first: date, last: date) -> Iterator[int]:
    """The ids of the users who logged in on one of these days, of all types; who changed type counts once."""
    return user_ids(unions([Span(first, last)])[0])


def active_count(user_type: str | None, first: date, last: date) -> int:
    """How many ``active`` (or, for None, ``active_any``) has. Two round trips, and no bitmap leaves Redis."""
    return active_counts([Span(first, last, user_type)])[0]


def active_counts(spans: Sequence[Span]) -> list[int]:
    """``active_count`` for many spans, 32 of them in the same two round trips."""
    return reading.counts(spans)


def unions(spans: Sequence[Span]) -> list[bytes]:
    """For each span the bitmap of the numbers of all who were active in it (bit n: number n), without zeros at the
    end. OR-ed in Redis; what is fetched is one bitmap a span (1.25 MB for ten million users).
    """
    return reading.bitmaps_of(spans)


def day_bitmaps(wanted: Sequence[date], types: Sequence[str]) -> dict[str, list[bytes | None]]:
    """By type, a bitmap for each of these days (bit n: number n; None: nobody came).

    All of it is in memory at once: ten million users take 1.25 MB a day and type, so ask for few days at a time.
    """
    found = iter(unions([Span(day, day, kind) for kind in types for day in wanted]))
    return {kind: [next(found) or None for _ in wanted] for kind in types}


def population() -> bytes:
    """The bitmap of all numbers whose users ever logged in and were not erased: what a NOT has to be taken in."""
    return reading.population()


def user_ids(bitmap: bytes) -> Iterator[int]:
    """The users' ids behind the numbers of a bitmap, in the order of the numbers."""
    places = bitmaps.numbers(bitmap)
    for at in range(0, len(places), STEP):
        rows = Number.objects.exclude(user=None).filter(pk__in=places[at : at + STEP].tolist()).order_by("pk")
        yield from rows.values_list("user_id", flat=True)


def active_users(user_type: str | None, first: date, last: date, *, after: int, size: int) -> ActivePage:
    """Return a page of the users who logged in on one of these days, by their numbers, and how many there are in all.

    user_type: None for all types. after: the number after which the page begins; -1: the first page.
    """
    bitmap = unions([Span(first, last, user_type)])[0]
    places, users = bitmaps.numbers(bitmap), list[ActiveUser]()
    places = places[places > after]
    for at in range(0, len(places), STEP):
        rows = Number.objects.exclude(user=None).filter(pk__in=places[at : at + STEP].tolist()).order_by("pk")
        users += [ActiveUser(*row) for row in rows.values_list("pk", "user_id", "user__username")[: size + 1]]
        if len(users) > size:
            break
    return ActivePage(users[:size], users[size - 1].number if len(users) > size else None, bitmaps.count(bitmap))


def first_day() -> date | None:
    """A day before which there is no login at all (the first day of which SQL has one, or the first of an earlier
    month of which Redis has one); None: there is none.
    """
    found = [max(day, EARLIEST) for day in (store.first_day(), _first_in_redis()) if day]
    return min(found, default=None)


def _first_in_redis() -> date | None:
    if breaker.open():
        return None
    try:
        members: list[Any] = client().zrange(keys.months(), 0, -1)
    except RedisError:
        return None
    return min((parse_member(member.decode())[0] for member in members), default=None)
