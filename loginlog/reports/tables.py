"""Arithmetic on tables of bitmaps in Redis' format: a row for each day, a bit for each user.

The columns of a table are words of 64 bits, so that an operation processes 64 users at once. The order of the bits does
not matter here. Windows of 7 and 30 days are counted here and not in Redis, which would read 38 bitmaps for each day.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.uint64]
WORD_BYTES: Final = 8  # bytes
BLOCK_WORDS: Final = 2048  # words of each row that are processed together: they fit into the processor's cache


def build_table(raws: Sequence[bytes | None]) -> Table:
    """Return bitmaps of any lengths (None: empty) as rows of one table, padded with zeros."""
    longest = max((len(raw) for raw in raws if raw), default=0)
    bytes_wide = -(-longest // WORD_BYTES) * WORD_BYTES
    rows = np.zeros((len(raws), bytes_wide), dtype=np.uint8)
    for row, raw in zip(rows, raws, strict=True):
        if raw:
            row[: len(raw)] = np.frombuffer(raw, dtype=np.uint8)
    return rows.view(np.uint64)


def widen(rows: Table, words: int) -> Table:
    """Return the rows, padded to at least ``words`` words each."""
    missing = words - rows.shape[1]
    if missing <= 0:
        return rows
    return np.pad(rows, ((0, 0), (0, missing)))


def stack(tables: Sequence[Table]) -> Table:
    """Return tables stacked vertically, padded to the widest."""
    words = max((rows.shape[1] for rows in tables), default=0)
    return np.concatenate([widen(rows, words) for rows in tables])


def union(tables: Sequence[Table]) -> Table:
    """Return the row-by-row union of tables with equal numbers of rows."""
    words = max(rows.shape[1] for rows in tables)
    both = widen(tables[0], words).copy()
    for rows in tables[1:]:
        both[:, : rows.shape[1]] |= rows
    return both


def count_bits(rows: Table) -> list[int]:
    """Return the number of set bits in each row."""
    found: NDArray[Any] = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    return [int(n) for n in found]


def compute_rolling(rows: Table, width: int) -> Table:
    """Return a table whose row i is the union of the rows i - width + 1 to i.

    Takes about 2 log2(width) passes over the rows, because the windows double.
    """
    found, have = rows.copy(), 1
    while have < width:
        # The last step is shorter, so that the window does not become wider than ``width``.
        step = min(have, width - have)
        wider = found.copy()
        wider[step:] |= found[:-step]
        found, have = wider, have + step
    return found


def count_rolling(rows: Table, width: int, shown: int) -> list[int]:
    """Return ``count_bits(compute_rolling(rows, width))`` for the last ``shown`` rows.

    The rows are processed in blocks that fit into the processor's cache, which is several times faster for millions of
    users.
    """
    total = np.zeros(shown, dtype=np.int64)
    for at in range(0, rows.shape[1], BLOCK_WORDS):
        # The rows before ``shown`` only complete the windows.
        found = compute_rolling(rows[:, at : at + BLOCK_WORDS], width)[len(rows) - shown :]
        total += np.bitwise_count(found).sum(axis=1, dtype=np.int64)
    return [int(n) for n in total]
