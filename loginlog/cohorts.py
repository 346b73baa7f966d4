"""Who came for the first time in which week or month, and how many of them came back, and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

import numpy as np

from loginlog import days
from loginlog.days import A_DAY
from loginlog.windows import Table, counts, widen

Kind = Literal["week", "month"]
Reading = Literal["on", "after"]
KINDS: tuple[Kind, ...] = ("week", "month")
READINGS: tuple[Reading, ...] = ("on", "after")


@dataclass(frozen=True)
class Period:
    """A week (Monday to Sunday) or a month; both days belong to it."""

    first: date
    last: date

    def is_over(self, today: date) -> bool:
        """Whether nobody can come in it any more (but for marks that are made late)."""
        return self.last < today


@dataclass(frozen=True)
class Cell:
    """Of a cohort: how many came, and as a share of it (0 to 1). open: the period is not over yet."""

    count: int
    share: float
    open: bool


@dataclass(frozen=True)
class Cohort:
    """Users whose first login fell into ``period``; ``cells[k]`` says how many of them came k periods later."""

    period: Period
    size: int
    open: bool
    cells: list[Cell]


def period_of(day: date, kind: Kind) -> Period:
    """The period in which a day lies."""
    if kind == "week":
        first = day - A_DAY * day.weekday()
        return Period(first, first + A_DAY * 6)
    return Period(days.month_of(day), days.last_of(day))


def periods(until: date, kind: Kind, count: int) -> list[Period]:
    """``count`` periods one after the other; the last one has the day ``until`` in it."""
    found = [period_of(until, kind)]
    while len(found) < count:
        found.append(period_of(found[-1].first - A_DAY, kind))
    return found[::-1]


def cohorts(spans: Sequence[Period], seen_before: Table, active: Table, reading: Reading, today: date) -> list[Cohort]:
    """The table of retention.

    spans: periods without a gap between them. seen_before: one row, everybody who came before the first of them.
    active: a row for each period, everybody who came in it. reading: "on" counts who came in that very period,
    "after" who came in it or in a later one (of those given).
    """
    words = max(seen_before.shape[1], active.shape[1])
    seen, active = widen(seen_before, words)[0].copy(), widen(active, words)
    came = np.bitwise_or.accumulate(active[::-1], axis=0)[::-1] if reading == "after" else active
    found = []
    for i, span in enumerate(spans):
        new = active[i] & ~seen
        seen |= active[i]
        size = counts(new[None])[0]
        back = counts(came[i:] & new)
        cells = [
            Cell(n, n / size if size else 0.0, not later.is_over(today))
            for n, later in zip(back, spans[i:], strict=True)
        ]
        found.append(Cohort(span, size, not span.is_over(today), cells))
    return found
