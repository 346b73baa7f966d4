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
    ours_cpu: float = 0.0  # seconds of this process's processors, with the work after the measured call
    other_cpu: float = 0.0

    @property
    def met(self) -> str:
        """Whether the target is met, as a word for the table."""
        return "" if self.target is None else "yes" if self.ratio >= self.target else "NO"

    def as_dict(self) -> dict[str, Any]:
        """Return the row for the JSON file."""
        return {**asdict(self), "met": self.met}


@dataclass(frozen=True)
class Comparison:
    """Two sides that do the same work.

    before: runs before each measured call and is not measured. before_theirs: replaces it for the other side.
    afterwards: completes our side's work; only its processor time counts.
    """

    what: str
    other: str
    sizes: str
    ours: Side
    theirs: Side
    target: float | None = None
    before: Side = lambda: None
    before_theirs: Side | None = None
    afterwards: Side = lambda: None


def measure(comparison: Comparison, rounds: int = ROUNDS) -> Row:
    """Run both sides alternately for ``rounds`` rounds after one warm-up round, and return the medians."""
    seconds: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
    sides = (
        ("theirs", comparison.before_theirs or comparison.before, comparison.theirs, None),
        ("ours", comparison.before, comparison.ours, comparison.afterwards),
    )
    for number in range(rounds + 1):
        for name, before, side, afterwards in sides:
            before()
            gc.collect()
            start, cpu = time.perf_counter(), time.process_time()
            side()
            end = time.perf_counter()
            if afterwards:
                afterwards()
            if number:
                seconds[name].append((end - start, time.process_time() - cpu))
    ours, theirs = (tuple(map(statistics.median, zip(*seconds[name], strict=True))) for name in ("ours", "theirs"))
    ratio = theirs[0] / ours[0]
    about = (comparison.what, comparison.other, comparison.sizes)
    return Row(*about, ours[0], theirs[0], ratio, comparison.target, ours[1], theirs[1])


def render(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = ["| what | other | sizes | ours | other | ratio | target | met | CPU |", "|" + "---|" * 9]
    lines += [
        f"| {r['what']} | {r['other']} | {r['sizes']} | {_seconds(r['ours_seconds'])} | {_seconds(r['other_seconds'])} "
        f"| {r['ratio']:.2f} | {'' if r['target'] is None else r['target']} | {r['met']} "
        f"| {_seconds(r['ours_cpu'])}, {_seconds(r['other_cpu'])} |"
        for r in rows
    ]
    return "\n".join(lines)


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"
