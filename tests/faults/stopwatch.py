"""How long something takes, but for the time in which it could not go on because others had the processors."""

import time
from pathlib import Path


class Stopwatch:
    """Runs from when it is made. pids: processes that have to do with it, besides this one; their children too."""

    def __init__(self, *pids: int) -> None:
        self.pids = pids
        self._began, self._queued = time.monotonic(), self._in_line()

    def seconds(self) -> float:
        """Until now. Where the system does not say who stood in line (it is not Linux), all the time."""
        return time.monotonic() - self._began - (self._in_line() - self._queued)

    def _in_line(self) -> float:
        found = list(Path("/proc/self/task").glob("*/schedstat"))
        pids = list(self.pids)
        for pid in pids:
            tasks = list(Path(f"/proc/{pid}/task").glob("*"))
            found += [task / "schedstat" for task in tasks]
            pids += [int(child) for task in tasks for child in _read(task / "children").split()]
        return sum(int((_read(path).split() or ["0", "0"])[1]) for path in found) / 1e9


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has just ended
        return ""
