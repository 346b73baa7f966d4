"""Operations on bitmaps in Redis' format: bit 0 is the highest bit of the first byte. No Redis, no SQL."""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

MONTH_BYTES: Final = 4  # bit 0 is never set, bits 1 to 31 are days


def bit_of_day(day: date) -> int:
    """Return the bit of a day in its month's bits, a 32-bit integer as in SQL."""
    return 1 << (31 - day.day)


def parse_month(raw: bytes) -> int:
    """Return a month's bitmap as an integer, without the bit that is no day."""
    return int.from_bytes(raw[:MONTH_BYTES].ljust(MONTH_BYTES, b"\0")) & 0x7FFFFFFF


def encode_month(bits: int) -> bytes:
    """Return a month's bits as the four bytes in Redis."""
    return bits.to_bytes(MONTH_BYTES)


def list_days(month: date, bits: int) -> list[date]:
    """Return the days of a month with a set bit, ascending."""
    return [month + timedelta(days=number - 1) for number in list_day_numbers(bits)]


def list_day_numbers(bits: int) -> list[int]:
    """Return the days of a month with a set bit, from 1 on, ascending."""
    return [number for number in range(1, 32) if bits >> (31 - number) & 1]


def list_positions(raw: bytes, start: int = 0) -> NDArray[np.int64]:
    """Return the positions of the set bits, ascending; the first bit of ``raw`` has the position ``start``."""
    bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8))
    return np.flatnonzero(bits) + start


def from_positions(found: Iterable[int]) -> bytes:
    """Return the bitmap in which exactly these bits are set."""
    places = found if isinstance(found, np.ndarray) else np.fromiter(found, dtype=np.int64)
    if not places.size:
        return b""
    bits = np.zeros((int(places.max()) // 8 + 1) * 8, dtype=np.uint8)
    bits[places] = 1
    return np.packbits(bits).tobytes()


def count_bits(raw: bytes) -> int:
    """Return the number of set bits."""
    return int(np.bitwise_count(np.frombuffer(raw, dtype=np.uint8)).sum(dtype=np.int64))


def subtract(raw: bytes, gone: bytes) -> bytes:
    """Return the bits of ``raw`` that are not in ``gone``, without trailing zeros."""
    found = np.frombuffer(raw, dtype=np.uint8).copy()
    size = min(len(raw), len(gone))
    found[:size] &= ~np.frombuffer(gone[:size], dtype=np.uint8)
    return strip_zeros(found.tobytes())


def strip_zeros(raw: bytes) -> bytes:
    """Return the bitmap without trailing zeros, so that equal sets are equal bytes."""
    return raw.rstrip(b"\0")
