"""Cohorts: users by the week or month of their first login, and the numbers of those that returned later.

First logins are computed as one OR over all earlier days, because late marks, removals and erasures change them: a
stored first day could only be lowered, and a bitmap of each day's new users would have to be cleared for a late mark.
The OR costs Redis half a millisecond for each month of a million users.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

import numpy as np

from loginlog import days
from loginlog.days import ONE_DAY
from loginlog.reports.tables import Table, count_bits, widen

PeriodKind = Literal["week", "month"]
Reading = Literal["on", "after"]
PERIOD_KINDS: tuple[PeriodKind, ...] = ("week", "month")
READINGS: tuple[Reading, ...] = ("on", "after")


@dataclass(frozen=True)
class Period:
    """A week (Monday to Sunday) or a month, from ``first`` to ``last`` inclusive."""

    first: date
    last: date

    def is_over(self, today: date) -> bool:
        """Return whether the period has ended. Late marks may still add users."""
        return self.last < today


@dataclass(frozen=True)
class Cell:
    """The number of a cohort's users in a period, and their share (0 to 1). ``open``: the period has not ended."""

    count: int
    share: float
    open: bool


@dataclass(frozen=True)
class Cohort:
    """Users with their first login in ``period``; ``cells[k]`` counts those that logged in k periods later."""

    period: Period
    size: int
    open: bool
    cells: list[Cell]


def find_period(day: date, kind: PeriodKind) -> Period:
    """Return the period that contains a day."""
    if kind == "week":
        first = day - ONE_DAY * day.weekday()
        return Period(first, first + ONE_DAY * 6)
    return Period(days.month_of(day), days.last_day_of_month(day))


def list_periods(until: date, kind: PeriodKind, count: int) -> list[Period]:
    """Return ``count`` consecutive periods; the last one contains the day ``until``."""
    found = [find_period(until, kind)]
    while len(found) < count:
        found.append(find_period(found[-1].first - ONE_DAY, kind))
    return found[::-1]


def compute_cohorts(
    spans: Sequence[Period], seen_before: Table, active: Table, reading: Reading, today: date
) -> list[Cohort]:
    """Return the retention table: one cohort per period.

    ``spans`` are consecutive periods. ``seen_before`` has one row with the users active before the first period, and
    ``active`` has one row per period with its active users. ``reading`` "on" counts users active in exactly that
    period, "after" those active in it or in a later one of ``spans``.
    """
    words = max(seen_before.shape[1], active.shape[1])
    seen, active = widen(seen_before, words)[0].copy(), widen(active, words)
    came = np.bitwise_or.accumulate(active[::-1], axis=0)[::-1] if reading == "after" else active
    found = []
    for i, span in enumerate(spans):
        # ``new`` before ``seen``: a cohort has the users that were in no earlier period.
        new = active[i] & ~seen
        seen |= active[i]
        size = count_bits(new[None])[0]
        back = count_bits(came[i:] & new)
        cells = []
        for count, later in zip(back, spans[i:], strict=True):
            share = count / size if size else 0.0
            cells.append(Cell(count, share, not later.is_over(today)))
        found.append(Cohort(span, size, not span.is_over(today), cells))
    return found
