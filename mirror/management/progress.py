"""Progress of a command: a bar with rate and remaining time on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext as _

PROGRESS_SECONDS: Final = 5.0  # how often a command prints a line of progress

if TYPE_CHECKING:
    from tqdm import tqdm

Totals = Mapping[str, int] | Callable[[str], int | None]


def plain(count: int, noun: str) -> str:
    """Return "1 difference" or "2 differences"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class Progress:
    """Context manager and callback ``(name, rows)``, which adds rows to the bar or line of ``name``.

    stream: receives the output (a command's stderr, so that stdout has only the report). totals: the expected rows
    by ``name``, or a function that returns them; it is called with the first rows of ``name``.
    """

    def __init__(self, stream: Any, verb: str, totals: Totals | None = None) -> None:
        self._stream = stream
        self._verb = verb
        self._find_total = totals if callable(totals) else dict(totals or {}).get
        self._totals: dict[str, int | None] = {}
        self._bars: dict[str, tqdm[Any]] = {}
        self._counts: dict[str, int] = {}
        self._began: dict[str, float] = {}
        self._printed_at = time.monotonic()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for bar in self._bars.values():
            bar.close()

    def __call__(self, name: str, rows: int) -> None:
        if name not in self._totals:
            self._totals[name] = self._find_total(name)
            self._began[name] = time.monotonic()
            self._counts[name] = 0
        self._counts[name] += rows
        if self._stream.isatty():
            self._get_bar(name).update(rows)
        elif time.monotonic() - self._printed_at >= PROGRESS_SECONDS:
            self._printed_at = time.monotonic()
            self._stream.write(self._write_line(name))

    def _get_bar(self, name: str) -> "tqdm[Any]":
        if name not in self._bars:
            # Here, because it is slow to import, and the admin imports this package.
            from tqdm import tqdm

            # Django's OutputWrapper would add a newline to every update of the bar.
            stream = getattr(self._stream, "_out", self._stream)
            unit = " " + _("rows")
            self._bars[name] = tqdm(
                desc=name, unit=unit, total=self._totals[name], file=stream, dynamic_ncols=True, miniters=1
            )
        return self._bars[name]

    def _write_line(self, name: str) -> str:
        done = self._counts[name]
        total = self._totals[name]
        seconds = max(time.monotonic() - self._began[name], 1e-3)
        rate = done / seconds
        values = {"name": name, "done": done, "total": total, "verb": self._verb, "rate": f"{rate:.0f}"}
        if not total:
            return _("%(name)s: %(done)s rows %(verb)s, %(rate)s rows/s") % values
        # Rows may be inserted meanwhile, so more may be done than were counted.
        rows_left = max(total - done, 0)
        values["left"] = f"{rows_left / rate:.0f}" if rate else "?"
        return _("%(name)s: %(done)s of %(total)s rows %(verb)s, %(rate)s rows/s, %(left)s s left") % values
