"""Who was here, over days: counts by day, week and month, and who came back. All from the bitmaps of days.

Nothing here looks for keys: which bitmaps are asked for follows from the dates and the types alone. ``Union`` is
``selectors.unions``; how often it is asked is said with each function.
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

AT_ONCE: Final = 16  # days that are asked for together
WIDTHS: Final = (1, 7, 30)  # days: DAU, WAU, MAU
BEFORE: Final = timedelta(days=WIDTHS[-1] - 1)
EVERYBODY: Final = ""  # the type of all types together

Union = Callable[[Sequence[Span]], Sequence[bytes]]


@dataclass(frozen=True)
class Activity:
    """Of one type, or of everybody: distinct users on each day, in the 7 and in the 30 days that end with it."""

    user_type: str
    dau: list[int]
    wau: list[int]
    mau: list[int]


def asks(length: int) -> int:
    """How often ``activity`` asks for so many days."""
    return -(-(length + BEFORE.days) // AT_ONCE)


def activity(first: date, last: date, types: Sequence[str], union: Union) -> list[Activity]:
    """DAU, WAU and MAU for each day from ``first`` to ``last``: everybody first, then type by type.

    Asks ``asks(days)`` times, for 16 days each; has at most 45 days of each type in memory.
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
    """A table for everybody and one for each type, with a row a day."""
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
    """The cohorts of users by their first login as one of a type (None: as any).

    periods: from ``cohorts.periods``. since: the first day of the whole log (None: it is empty). Whose first login
    was when is not kept anywhere: it is worked out from all days, so that a mark that is made late puts a user into
    the cohort where they belong. Asks once, for one bitmap a period and one for all the time before.
    """
    spans = [Span(period.first, period.last, user_type) for period in periods]
    earlier = since is not None and since < periods[0].first
    if since is not None and earlier:
        spans.append(Span(since, periods[0].first - A_DAY, user_type))
    rows = windows.table(union(spans) if since else [b""] * len(spans))
    active, before = rows[: len(periods)], rows[len(periods) :]
    seen = before if earlier else np.zeros_like(rows[:1])
    return cohorts.cohorts(periods, seen, active, reading, today)
