"""Progress: a bar with rate and time left on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import Any

from tqdm import tqdm

EVERY_SECONDS = 5.0


def plain(count: int, noun: str) -> str:
    """ "1 difference", "2 differences"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class Progress:
    """Context manager and callback ``(what, rows)``: adds rows to the bar or line of ``what``."""

    def __init__(self, stream: Any, verb: str, totals: dict[str, int] | None = None) -> None:
        self._stream, self._verb, self._totals = stream, verb, totals or {}
        self._bars: dict[str, tqdm[Any]] = {}
        self._counts: dict[str, int] = {}
        self._said = self._began = time.monotonic()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for bar in self._bars.values():
            bar.close()

    def __call__(self, what: str, rows: int) -> None:
        if self._stream.isatty():
            if what not in self._bars:
                self._bars[what] = tqdm(desc=what, unit=" rows", total=self._totals.get(what))
            self._bars[what].update(rows)
            return
        self._counts[what] = self._counts.get(what, 0) + rows
        now = time.monotonic()
        if now - self._said >= EVERY_SECONDS:
            self._said = now
            rate = sum(self._counts.values()) / (now - self._began)
            self._stream.write(f"{what}: {self._counts[what]} rows {self._verb}, {rate:.0f} rows/s")
