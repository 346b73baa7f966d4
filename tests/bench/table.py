"""Measure two sides in alternating rounds and print the results as a table."""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

ROUNDS = 5
Side = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """The result of one comparison. ratio: seconds of the other side divided by ours, so that more is better."""

    what: str
    other: str
    sizes: str
    ours_seconds: float
    other_seconds: float
    ratio: float
    target: float | None

    @property
    def met(self) -> str:
        """Whether the target is met, as a word for the table."""
        return "" if self.target is None else "yes" if self.ratio >= self.target else "NO"

    def as_dict(self) -> dict[str, Any]:
        """Return the row for the JSON file."""
        return {**asdict(self), "met": self.met}


@dataclass(frozen=True)
class Comparison:
    """Two sides that do the same work. ``before`` runs before each measured call and is not measured."""

    what: str
    other: str
    sizes: str
    ours: Side
    theirs: Side
    target: float | None = None
    before: Side = lambda: None


def measure(comparison: Comparison, rounds: int = ROUNDS) -> Row:
    """Run both sides alternately for ``rounds`` rounds after one warm-up round, and return the medians."""
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for number in range(rounds + 1):
        for name, side in (("theirs", comparison.theirs), ("ours", comparison.ours)):
            comparison.before()
            gc.collect()
            start = time.perf_counter()
            side()
            if number:
                seconds[name].append(time.perf_counter() - start)
    ours, theirs = (statistics.median(seconds[name]) for name in ("ours", "theirs"))
    return Row(comparison.what, comparison.other, comparison.sizes, ours, theirs, theirs / ours, comparison.target)


def render(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = ["| what | other | sizes | ours | other | ratio | target | met |", "|---|---|---|---|---|---|---|---|"]
    lines += [
        f"| {r['what']} | {r['other']} | {r['sizes']} | {_seconds(r['ours_seconds'])} | {_seconds(r['other_seconds'])} "
        f"| {r['ratio']:.2f} | {'' if r['target'] is None else r['target']} | {r['met']} |"
        for r in rows
    ]
    return "\n".join(lines)


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"
