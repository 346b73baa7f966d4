"""Active users by day, week and month, and retention, computed from the day bitmaps.

No function scans for keys, because dates and types determine the bitmaps. ``read_unions`` is a function like
``selectors.read_unions``; each function states its number of calls.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from typing import Final

import numpy as np

from loginlog.days import ONE_DAY, list_days
from loginlog.reports import cohorts, tables
from loginlog.reports.cohorts import Cohort, Period, Reading
from loginlog.reports.tables import Table
from loginlog.storage.reading import Span

DAYS_PER_CALL: Final = 16  # days per call of ``read_unions``
WEEK_DAYS: Final = 7
MONTH_DAYS: Final = 30
LEAD_TIME: Final = timedelta(days=MONTH_DAYS - 1)
ALL_TYPES: Final = ""  # the type of all types together

ReadUnions = Callable[[Sequence[Span]], Sequence[bytes]]


@dataclass(frozen=True)
class Activity:
    """Distinct users of one type, or of all types, on each day and in the 7 and 30 days that end with it."""

    user_type: str
    dau: list[int]
    wau: list[int]
    mau: list[int]


def count_calls(length: int) -> int:
    """Return the number of calls that ``compute_activity`` makes for a range of ``length`` days."""
    return -(-(length + LEAD_TIME.days) // DAYS_PER_CALL)


def compute_activity(first: date, last: date, types: Sequence[str], read_unions: ReadUnions) -> list[Activity]:
    """Return DAU, WAU and MAU for each day from ``first`` to ``last``, first of all types together, then by type.

    Calls ``read_unions`` as often as ``count_calls`` returns, for 16 days each, and holds at most 45 days of each type
    in memory.
    """
    found: dict[str, Activity] = {kind: Activity(kind, [], [], []) for kind in [ALL_TYPES, *types]}
    kept: dict[str, Table] = {}
    wanted = list_days(first - LEAD_TIME, last)
    for start in range(0, len(wanted), DAYS_PER_CALL):
        chunk = wanted[start : start + DAYS_PER_CALL]
        shown = sum(day >= first for day in chunk)
        for kind, new_rows in _read_tables(chunk, types, read_unions).items():
            rows = tables.stack([kept[kind], new_rows]) if kind in kept else new_rows
            activity = found[kind]
            activity.dau.extend(tables.count_rolling(rows, 1, shown))
            activity.wau.extend(tables.count_rolling(rows, WEEK_DAYS, shown))
            activity.mau.extend(tables.count_rolling(rows, MONTH_DAYS, shown))
            # The windows of the next chunk begin in these days.
            kept[kind] = rows[-LEAD_TIME.days :]
    return list(found.values())


def _read_tables(chunk: Sequence[date], types: Sequence[str], read_unions: ReadUnions) -> dict[str, Table]:
    """Return a table for all types together and one for each type, with a row per day."""
    raws = iter(read_unions([Span(day, day, kind) for kind in types for day in chunk]))
    by_type = {kind: tables.build_table(list(islice(raws, len(chunk)))) for kind in types}
    # A user may log in as two types on one day, so the numbers of the types are no sum.
    return {ALL_TYPES: tables.union(list(by_type.values()))} | by_type


def compute_retention(
    periods: Sequence[Period],
    user_type: str | None,
    read_unions: ReadUnions,
    *,
    since: date | None,
    reading: Reading,
    today: date,
) -> list[Cohort]:
    """Return the cohorts of users by their first login as a user of one type (None: of any type).

    ``periods`` come from ``cohorts.list_periods``; ``since`` is the first day of the whole log (None: it is empty).
    First logins are not stored but computed from all days, so a late mark still puts a user into the right cohort.
    Calls ``read_unions`` once, for one bitmap per period and one for all the time before.
    """
    spans = [Span(period.first, period.last, user_type) for period in periods]
    if since is None:
        raws: Sequence[bytes] = [b""] * len(spans)
    else:
        if since < periods[0].first:
            spans.append(Span(since, periods[0].first - ONE_DAY, user_type))
        raws = read_unions(spans)
    rows = tables.build_table(raws)
    active, before = rows[: len(periods)], rows[len(periods) :]
    seen = before if len(before) else np.zeros_like(rows[:1])
    return cohorts.compute_cohorts(periods, seen, active, reading, today)
