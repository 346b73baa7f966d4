"""Answer the login log's questions from a plain set of (day, type, user): slow and obviously correct."""

from collections.abc import Iterable
from datetime import date, timedelta

Mark = tuple[date, str, int]
A_DAY = timedelta(days=1)


def bitmap(numbers: Iterable[int]) -> bytes:
    """Return a bitmap as SETBIT builds it: bit 0 is the highest bit of the first byte."""
    made = bytearray()
    for n in numbers:
        made.extend(bytes(max(0, n // 8 + 1 - len(made))))
        made[n // 8] |= 128 >> (n % 8)
    return bytes(made)


def active(marks: Iterable[Mark], first: date, last: date, user_type: str | None = None) -> set[int]:
    """Return the users who were marked in these days with this type (None: any type)."""
    return {user for day, kind, user in marks if first <= day <= last and user_type in (None, kind)}


def count_returning(marks: Iterable[Mark], new: set[int], first: date, last: date) -> int:
    """Return the number of users in ``new`` who were marked in these days."""
    return len(new & active(marks, first, last))


def longest(days: set[date]) -> int:
    """Return the length of the longest run of consecutive days."""
    return max((streak_until(days, day) for day in days), default=0)


def streak_until(days: set[date], last: date) -> int:
    """Return the length of the run of consecutive days that ends on ``last``."""
    length = 0
    while last in days:
        length, last = length + 1, last - A_DAY
    return length
