"""Queries of the login log: from Redis, or from SQL while Redis cannot answer.

Days are dates in the site's time zone, and ranges include both ends. All functions raise ValueError for a range with
reversed ends or of more than a hundred years. Users are given as ``User`` or as an id.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from django.db.models import QuerySet

from accounts.models import User
from loginlog import days
from loginlog.mirrors import NAME
from loginlog.reports.parameters import EARLIEST_DAY
from loginlog.storage import bitmaps, months, reading
from loginlog.storage.reading import Span
from mirror.read import ask_sql

USERS_PER_STATEMENT: Final = 1000  # users per statement


class ActiveUser(NamedTuple):
    """A user in the log, with the dense id."""

    number: int
    id: int
    name: str


class ActivePage(NamedTuple):
    """A page of active users. ``after`` is the cursor of the next page, None on the last page."""

    users: list[ActiveUser]
    after: int | None
    total: int


def has_logged_in_on(user: User | int, day: date) -> bool:
    """Return whether a user logged in on a day."""
    return has_logged_in_between(user, day, day)


def has_logged_in_month(user: User | int, month: date) -> bool:
    """Return whether a user logged in during the month of the date ``month``."""
    return has_logged_in_between(user, days.month_of(month), days.last_day_of_month(month))


def has_logged_in_between(user: User | int, first: date, last: date) -> bool:
    """Return whether a user logged in on one of these days."""
    return bool(find_login_days(user, first, last))


def find_login_days(user: User | int, first: date, last: date) -> list[date]:
    """Return a user's login days of all types, ascending. Takes one round trip."""
    user_id = user if isinstance(user, int) else user.pk
    logins: list[date] = []
    for month, bits in sorted(reading.read_months(user_id, first, last).items()):
        logins += bitmaps.list_days(month, bits)
    return [day for day in logins if first <= day <= last]


def find_active_ids(user_type: str, first: date, last: date) -> Iterator[int]:
    """Yield the ids of users that logged in on one of these days as this type, each once, ordered by dense id."""
    return find_user_ids(read_unions([Span(first, last, user_type)])[0])


def find_active_ids_of_any_type(first: date, last: date) -> Iterator[int]:
    """Yield the ids of users of all types that logged in on one of these days, each once, ordered by dense id."""
    return find_user_ids(read_unions([Span(first, last)])[0])


def count_active(user_type: str | None, first: date, last: date) -> int:
    """Return the number of users that ``find_active_ids`` (for None: ``find_active_ids_of_any_type``) yields.

    Takes two round trips and transfers no bitmap.
    """
    return count_active_in_spans([Span(first, last, user_type)])[0]


def count_active_in_spans(spans: Sequence[Span]) -> list[int]:
    """Return ``count_active`` for many spans, 32 of them per two round trips."""
    return reading.count_users(spans)


def read_unions(spans: Sequence[Span]) -> list[bytes]:
    """Return a bitmap of the active users in each span, without trailing zeros; bit n stands for dense id n.

    Redis ORs the days, so one bitmap per span is transferred (1.25 MB for ten million users).
    """
    return reading.read_unions(spans)


def find_user_ids(bitmap: bytes) -> Iterator[int]:
    """Yield the user ids of the dense ids in a bitmap, in the order of the dense ids."""
    places = bitmaps.list_positions(bitmap)
    for at in range(0, len(places), USERS_PER_STATEMENT):
        yield from _query_users(places[at : at + USERS_PER_STATEMENT].tolist()).values_list("pk", flat=True)


def _query_users(numbers: list[int]) -> QuerySet[User]:
    return User.objects.filter(login_number__pk__in=numbers).order_by("login_number__pk")


def find_active_users(user_type: str | None, first: date, last: date, *, after: int, size: int) -> ActivePage:
    """Return a page of the users that logged in on one of these days, ordered by dense id, and their total number.

    ``user_type`` None means all types. ``after`` is the cursor of the page, -1 for the first one.
    """
    bitmap = read_unions([Span(first, last, user_type)])[0]
    places, users = bitmaps.list_positions(bitmap), list[ActiveUser]()
    places = places[places > after]
    for at in range(0, len(places), USERS_PER_STATEMENT):
        rows = _query_users(places[at : at + USERS_PER_STATEMENT].tolist())
        users += [ActiveUser(*row) for row in rows.values_list("login_number__pk", "pk", "username")[: size + 1]]
        if len(users) > size:
            break
    return ActivePage(users[:size], users[size - 1].number if len(users) > size else None, bitmaps.count_bits(bitmap))


def find_first_day() -> date | None:
    """Return the first day with a login, not before 1970; None if the log is empty. One or two queries."""
    found = ask_sql([NAME], months.find_first_day)
    return max(found, EARLIEST_DAY) if found else None
