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
        took, before = time.monotonic() - self._began, self._queued
        # One by one: what has ended meanwhile takes with it all the time that it ever stood in line.
        return took - sum(queued - before.get(task, 0) for task, queued in self._in_line().items()) / 1e9

    def _in_line(self) -> dict[Path, int]:
        """How many nanoseconds each thread has stood in line so far."""
        tasks = _tasks("self")
        pids = list(self.pids)
        for pid in pids:
            found = _tasks(pid)
            tasks += found
            pids += [int(child) for task in found for child in _read(task / "children").split()]
        return {task: int((_read(task / "schedstat").split() or ["0", "0"])[1]) for task in tasks}


def _tasks(pid: int | str) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:  # it has just ended, or this is not Linux
        return []


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has just ended
        return ""
