"""Streaks: runs of days without a gap. Days are the bits of an integer, counted from the first day."""

from collections.abc import Iterable
from datetime import date


def to_bits(days: Iterable[date], first: date) -> int:
    """Return days as an integer in which bit 0 stands for ``first``; earlier days are left out."""
    start, bits = first.toordinal(), 0
    for day in days:
        if day >= first:
            bits |= 1 << (day.toordinal() - start)
    return bits


def longest(bits: int) -> int:
    """Return the length of the longest run. Each step shortens all runs by a day until none is left."""
    length = 0
    while bits:
        bits &= bits << 1
        length += 1
    return length


def ending_at(bits: int, day: int) -> int:
    """Return the length of the run that ends with bit ``day``; 0 if that bit is not set."""
    if day < 0:
        return 0
    gaps = ~bits & ((1 << (day + 1)) - 1)
    return day + 1 - gaps.bit_length()


def current(bits: int, today: int) -> int:
    """Return the length of the current run, which ends today or, since today is not over, yesterday."""
    return ending_at(bits, today) or ending_at(bits, today - 1)
