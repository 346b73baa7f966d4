"""The same questions answered from a plain set of (day, type, user), the slow way that cannot be wrong."""

from collections.abc import Iterable
from datetime import date, timedelta

Mark = tuple[date, str, int]
A_DAY = timedelta(days=1)


def bitmap(numbers: Iterable[int]) -> bytes:
    """As SETBIT makes it: bit 0 is the highest of the first byte."""
    made = bytearray()
    for n in numbers:
        made.extend(bytes(max(0, n // 8 + 1 - len(made))))
        made[n // 8] |= 128 >> (n % 8)
    return bytes(made)


def active(marks: Iterable[Mark], first: date, last: date, user_type: str | None = None) -> set[int]:
    """Who came within these days, as one type or (None) as any."""
    return {user for day, kind, user in marks if first <= day <= last and user_type in (None, kind)}


def back(marks: Iterable[Mark], new: set[int], first: date, last: date) -> int:
    """How many of ``new`` came within these days."""
    return len(new & active(marks, first, last))


def longest(days: set[date]) -> int:
    """The longest run of days without a gap."""
    return max((run(days, day) for day in days), default=0)


def run(days: set[date], last: date) -> int:
    """The run that ends with ``last``."""
    length = 0
    while last in days:
        length, last = length + 1, last - A_DAY
    return length
