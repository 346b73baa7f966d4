"""Who was here when: Redis first, SQL for what Redis does not have (any more), OR-ed for each bitmap.

Days are dates in the site's time zone, and both ends of a range belong to it; a range that ends before it begins
raises ValueError. Users are given as ``User`` or as an id. What one process marked another sees at once.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from accounts.models import User


class Span(NamedTuple):
    """Days from ``first`` to ``last`` (both included) and a type; None: all types together."""

    first: date
    last: date
    user_type: str | None = None


def logged_in_on(user: User | int, day: date) -> bool:
    """Whether a user logged in on a day."""
    raise NotImplementedError


def logged_in_in_month(user: User | int, month: date) -> bool:
    """Whether a user logged in in the month in which the date ``month`` lies."""
    raise NotImplementedError


def logged_in_between(user: User | int, first: date, last: date) -> bool:
    """Whether a user logged in on one of these days."""
    raise NotImplementedError


def login_days(user: User | int, first: date, last: date) -> list[date]:
    """The days on which a user logged in (as whatever type), ascending. One round trip."""
    raise NotImplementedError


def active(user_type: str, first: date, last: date) -> Iterator[int]:
    """The ids of the users who logged in on one of these days as users of this type, each once, by their number."""
    raise NotImplementedError


def active_any(first: date, last: date) -> Iterator[int]:
    """The ids of the users who logged in on one of these days, of all types; who changed type counts once."""
    raise NotImplementedError


def active_count(user_type: str | None, first: date, last: date) -> int:
    """How many ``active`` (or, for None, ``active_any``) has. Two round trips, no bitmap leaves Redis."""
    return active_counts([Span(first, last, user_type)])[0]


def active_counts(spans: Sequence[Span]) -> list[int]:
    """``active_count`` for many spans in the same two round trips."""
    raise NotImplementedError


def unions(spans: Sequence[Span]) -> list[bytes]:
    """For each span the bitmap of the numbers of all who were active in it (bit n: number n), without zeros at the
    end. OR-ed in Redis; what is fetched is one bitmap a span.
    """
    raise NotImplementedError


def day_bitmaps(wanted: Sequence[date], types: Sequence[str]) -> dict[str, list[bytes | None]]:
    """By type, a bitmap for each of these days (bit n: number n; None: nobody came). As ``analytics.Fetch`` wants it.

    All of it is in memory at once: ten million users take 1.25 MB a day and type, so ask for few days at a time.
    """
    raise NotImplementedError


def population() -> bytes:
    """The bitmap of all numbers whose users ever logged in and were not erased: what a NOT has to be taken in."""
    raise NotImplementedError


def user_ids(bitmap: bytes) -> Iterator[int]:
    """The users' ids behind the numbers of a bitmap, in the order of the numbers."""
    raise NotImplementedError


def first_day() -> date | None:
    """The first day for which there is a login at all; None: there is none."""
    raise NotImplementedError
