"""The storm's own record of writes, faults and failed requests. It shares nothing with the site."""

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Hashable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TextIO

SQL = "sql"
SERVERS = ("state", "cache", "broker", SQL)
GRACE_SECONDS = 2.0  # promised for access and privacy after the end of a fault
Cell = tuple[Hashable, ...]  # the kind of a fact, and its identity: ("follow", "storm1", "storm2")


class Outcome(StrEnum):
    """What the response said about a write. UNKNOWN: there was none, or a server error."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Entry(NamedTuple):
    """One write. began, ended: the times of the request and of its response, in seconds since 1970."""

    began: float
    ended: float
    value: Hashable
    outcome: Outcome


class Period(NamedTuple):
    """A time, in seconds since 1970."""

    since: float
    until: float

    def overlaps(self, began: float, ended: float) -> bool:
        """Return whether the period has a moment in common with another."""
        return began <= self.until and self.since <= ended


class Calendar:
    """The times at which servers and processes were away."""

    def __init__(self) -> None:
        self._past: list[tuple[str, Period]] = []
        self._present: dict[str, float] = {}
        self._begun: list[tuple[float, str]] = []

    def begin(self, name: str, kind: str) -> None:
        """Note that this happens now to a server or process."""
        self._present[name] = time.time()
        self._begun.append((self._present[name], f"{name}: {kind}"))

    def find_last(self, moment: float) -> str:
        """Return the last fault that had begun at this moment."""
        return next((fault for since, fault in reversed(self._begun) if since <= moment), "no fault yet")

    def measure_calm(self, began: float, ended: float) -> float:
        """Return for how many seconds of this time nothing was away."""
        end, calm = began, 0.0
        for period in sorted(period for _, period in self._past if period.overlaps(began, ended)):
            calm += max(0.0, period.since - end)
            end = max(end, period.until)
        return calm + max(0.0, ended - end)

    def end(self, name: str) -> None:
        """Note that it is back."""
        self._past.append((name, Period(self._present[name], time.time())))
        del self._present[name]

    def find_away(self, began: float, ended: float) -> set[str]:
        """Return the servers and processes that were away at any moment of this time."""
        periods = [(name, Period(since, time.time())) for name, since in [*self._present.items()]]
        return {name for name, period in [*periods, *self._past] if period.overlaps(began, ended)}

    def is_calm(self, began: float, ended: float) -> bool:
        """Return whether nothing was away during this time and in the promised time before it."""
        return not self.find_away(began - GRACE_SECONDS, ended)


class Ledger:
    """All writes of people and staff with their outcomes, failed requests, and violations of promises."""

    def __init__(self, path: Path, calendar: Calendar) -> None:
        self.calendar = calendar
        self.entries: dict[Cell, list[Entry]] = defaultdict(list)
        self.outcomes: Counter[tuple[str, Outcome]] = Counter()
        self.refusals: Counter[tuple[str, int]] = Counter()
        self.failures: Counter[str] = Counter()
        self.violations: list[str] = []
        self.latencies: list[tuple[float, float]] = []  # seconds, and when the request began
        self._lock, self._file = threading.Lock(), path.open("w", encoding="utf-8")

    def add(self, cell: Cell, value: Hashable, outcome: Outcome, began: float, ended: float = 0.0) -> None:
        """Record a write. Only one thread may write to a cell."""
        entry = Entry(began, ended or time.time(), value, outcome)
        with self._lock:
            self.entries[cell].append(entry)
            self.outcomes[str(cell[0]), outcome] += 1
            self._write(self._file, cell=cell, **entry._asdict())

    def add_failure(self, path: str, error: str, began: float, *, is_cut: bool) -> None:
        """Record a request without a proper answer. It is a violation unless the faults of its time excuse it."""
        ended = time.time()
        away = self.calendar.find_away(began, ended)
        servers = away & {*SERVERS}
        kind = "cut" if is_cut else "5xx"
        is_excused = SQL in servers or len(servers) > 1 or (is_cut and "web" in away)
        with self._lock:
            self.failures[f"{kind}, {'excused' if is_excused else 'not excused'}"] += 1
        if not is_excused:
            away_text = ", ".join(sorted(away)) or "nothing"
            self.add_violation(f"{kind}: {path} after {ended - began:.1f} s, away: {away_text}: {error}")

    def add_violation(self, text: str) -> None:
        """Record a broken promise, with the last fault before it."""
        now = time.time()
        text = f"{text}, the last fault was {self.calendar.find_last(now)}"
        with self._lock:
            self.violations.append(text)
            self._write(self._file, violation=text, at=now)

    def _write(self, file: TextIO, **fields: object) -> None:
        file.write(json.dumps(fields) + "\n")
        file.flush()

    def find_cells(self, kind: str) -> list[Cell]:
        """Return the cells of this kind."""
        return [cell for cell in [*self.entries] if cell[0] == kind]

    def find_allowed(self, cell: Cell, initial: Hashable) -> set[Hashable]:
        """Return the values that the cell may have: the last acknowledged one, and later ones of unknown outcome."""
        allowed = {initial}
        for entry in self.entries[cell]:
            if entry.outcome == Outcome.REFUSED:
                continue
            allowed = {entry.value} if entry.outcome == Outcome.DONE else allowed | {entry.value}
        return allowed

    def count(self, cell: Cell, outcome: Outcome) -> int:
        """Return the number of writes to a cell with this outcome."""
        return sum(entry.outcome == outcome for entry in self.entries[cell])
