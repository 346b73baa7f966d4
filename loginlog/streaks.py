"""Runs of days without a gap. Days are the bits of one integer: bit i is the i-th day from the first."""

from collections.abc import Iterable
from datetime import date


def to_bits(days: Iterable[date], first: date) -> int:
    """Days as an integer; those before ``first`` are left out."""
    start, bits = first.toordinal(), 0
    for day in days:
        if day >= first:
            bits |= 1 << (day.toordinal() - start)
    return bits


def longest(bits: int) -> int:
    """The length of the longest run: how often it can be shortened by a day until none is left."""
    length = 0
    while bits:
        bits &= bits << 1
        length += 1
    return length


def ending_at(bits: int, day: int) -> int:
    """The length of the run that ends with bit ``day``; 0 if that bit is not set."""
    if day < 0:
        return 0
    gaps = ~bits & ((1 << (day + 1)) - 1)
    return day + 1 - gaps.bit_length()


def current(bits: int, today: int) -> int:
    """The run that is still going on: it ends today, or yesterday while today is not over."""
    return ending_at(bits, today) or ending_at(bits, today - 1)
