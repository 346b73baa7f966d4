"""Active users by day, week and month, and retention, computed from the day bitmaps.

No function scans for keys, because dates and types determine the bitmaps. ``Union`` is ``selectors.unions``; each
function states its number of calls.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

import numpy as np

from loginlog import cohorts, windows
from loginlog.cohorts import Cohort, Period, Reading
from loginlog.days import A_DAY, days
from loginlog.selectors import Span
from loginlog.windows import Table

AT_ONCE: Final = 16  # days per call of Union
WIDTHS: Final = (1, 7, 30)  # days: DAU, WAU, MAU
BEFORE: Final = timedelta(days=WIDTHS[-1] - 1)
EVERYBODY: Final = ""  # the type of all types together

Union = Callable[[Sequence[Span]], Sequence[bytes]]


@dataclass(frozen=True)
class Activity:
    """Distinct users of one type, or of all types, on each day and in the 7 and 30 days that end with it."""

    user_type: str
    dau: list[int]
    wau: list[int]
    mau: list[int]


def asks(length: int) -> int:
    """Return the number of calls that ``activity`` makes for a range of ``length`` days."""
    return -(-(length + BEFORE.days) // AT_ONCE)


def activity(first: date, last: date, types: Sequence[str], union: Union) -> list[Activity]:
    """Return DAU, WAU and MAU for each day from ``first`` to ``last``, first of all types together, then by type.

    Calls ``union`` ``asks(days)`` times, for 16 days each, and holds at most 45 days of each type in memory.
    """
    found: dict[str, tuple[list[int], ...]] = {kind: ([], [], []) for kind in (EVERYBODY, *types)}
    kept: dict[str, Table] = {}
    wanted = days(first - BEFORE, last)
    for start in range(0, len(wanted), AT_ONCE):
        chunk = wanted[start : start + AT_ONCE]
        shown = sum(day >= first for day in chunk)
        for kind, rows in _tables(chunk, types, union).items():
            rows = windows.stack([kept[kind], rows]) if kind in kept else rows
            for width, numbers in zip(WIDTHS, found[kind], strict=True):
                numbers += windows.rolling_counts(rows, width, shown)
            kept[kind] = rows[-BEFORE.days :]
    return [Activity(kind, *numbers) for kind, numbers in found.items()]


def _tables(chunk: Sequence[date], types: Sequence[str], union: Union) -> dict[str, Table]:
    """Return a table for all types together and one for each type, with a row per day."""
    raws = union([Span(day, day, kind) for kind in types for day in chunk])
    size = len(chunk)
    tables = {kind: windows.table(raws[i * size : (i + 1) * size]) for i, kind in enumerate(types)}
    return {EVERYBODY: windows.union(list(tables.values())), **tables}


def retention(
    periods: Sequence[Period],
    user_type: str | None,
    union: Union,
    *,
    since: date | None,
    reading: Reading,
    today: date,
) -> list[Cohort]:
    """Return the cohorts of users by their first login as a user of one type (None: of any type).

    ``periods`` come from ``cohorts.periods``; ``since`` is the first day of the whole log (None: it is empty). First
    logins are not stored but computed from all days, so a late mark still puts a user into the right cohort. Calls
    ``union`` once, for one bitmap per period and one for all the time before.
    """
    spans = [Span(period.first, period.last, user_type) for period in periods]
    earlier = since is not None and since < periods[0].first
    if since is not None and earlier:
        spans.append(Span(since, periods[0].first - A_DAY, user_type))
    rows = windows.table(union(spans) if since else [b""] * len(spans))
    active, before = rows[: len(periods)], rows[len(periods) :]
    seen = before if earlier else np.zeros_like(rows[:1])
    return cohorts.cohorts(periods, seen, active, reading, today)
