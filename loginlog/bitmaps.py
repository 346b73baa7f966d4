"""Bitmaps as Redis keeps them, in bytes: bit 0 is the highest of the first byte. Pure; no Redis, no SQL."""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

SEGMENT_BYTES: Final = 8192  # of a day's bitmap: one row in SQL, one mark
SEGMENT: Final = SEGMENT_BYTES * 8  # numbers
MONTH_BYTES: Final = 4  # bit 0 is never set, bits 1 to 31 are days


def bit_of(day: date) -> int:
    """The bit of a day in its month's bits (an integer of 32 bits, as SQL has it)."""
    return 1 << (31 - day.day)


def month_bits(raw: bytes) -> int:
    """A month's bitmap as an integer. What is no day is left out."""
    return int.from_bytes(raw[:MONTH_BYTES].ljust(MONTH_BYTES, b"\0")) & 0x7FFFFFFF


def month_raw(bits: int) -> bytes:
    """A month's bits as Redis' four bytes."""
    return bits.to_bytes(MONTH_BYTES)


def days_of(month: date, bits: int) -> list[date]:
    """The days of a month whose bits are set, ascending."""
    return [month + timedelta(days=d - 1) for d in range(1, 32) if bits >> (31 - d) & 1]


def numbers(raw: bytes, start: int = 0) -> NDArray[np.int64]:
    """The places of the bits that are set, ascending; the first bit of ``raw`` is ``start``."""
    bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8))
    return np.flatnonzero(bits) + start


def of_numbers(found: Iterable[int]) -> bytes:
    """The bitmap in which just these bits are set."""
    places = np.fromiter(found, dtype=np.int64)
    if not places.size:
        return b""
    bits = np.zeros((int(places.max()) // 8 + 1) * 8, dtype=np.uint8)
    bits[places] = 1
    return np.packbits(bits).tobytes()


def count(raw: bytes) -> int:
    """How many bits are set."""
    return int(np.bitwise_count(np.frombuffer(raw, dtype=np.uint8)).sum(dtype=np.int64))


def union(raws: Iterable[bytes]) -> bytes:
    """All bitmaps OR-ed, without zeros at the end. They may be of any lengths."""
    parts = sorted(raws, key=len, reverse=True)
    if not parts:
        return b""
    found = np.frombuffer(parts[0], dtype=np.uint8).copy()
    for raw in parts[1:]:
        found[: len(raw)] |= np.frombuffer(raw, dtype=np.uint8)
    return short(found.tobytes())


def without(raw: bytes, gone: bytes) -> bytes:
    """The bits of ``raw`` that are not in ``gone``, without zeros at the end."""
    found = np.frombuffer(raw, dtype=np.uint8).copy()
    size = min(len(raw), len(gone))
    found[:size] &= ~np.frombuffer(gone[:size], dtype=np.uint8)
    return short(found.tobytes())


def covers(all_of: bytes, part: bytes) -> bool:
    """Whether every bit of ``part`` is in ``all_of``."""
    return not without(part, all_of)


def short(raw: bytes) -> bytes:
    """The same bitmap without zeros at the end: equal facts are equal bytes."""
    return raw.rstrip(b"\0")
