"""Run bitmapist on the same Redis, in its own virtual environment because it needs an older redis-py.

As a program in that environment, ``python bitmapist_side.py SOCKET USERS FIRST DAYS`` prints its measurements.
"""

import json
import subprocess
import sys
import time
import venv
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[2] / "var" / "bitmapist"
VERSION = "3.119"
MARKS = 20_000
TRIES = 7


def key(day: date) -> str:
    """Return bitmapist's key of the bitmap of a day."""
    return f"trackist_active_{day.year}-{day.month}-{day.day}"


def run(socket: str, users: int, first: date, days: int) -> dict[str, Any] | str:
    """Return seconds and result of a distinct count and marks per second, or the reason of a failure."""
    python = HOME / "bin" / "python"
    try:
        if not python.exists():
            venv.create(HOME, with_pip=True)
        install = [str(python), "-m", "pip", "install", "-q", f"bitmapist=={VERSION}"]
        subprocess.run(install, check=True, capture_output=True)
        command = [str(python), __file__, socket, str(users), first.isoformat(), str(days)]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        text = reason.decode() if isinstance(reason, bytes) else reason
        return f"it could not be installed or run: {text.strip().splitlines()[-1]}"
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def _measure(socket: str, first: date, days: int) -> dict[str, Any]:
    import bitmapist  # type: ignore[import-not-found]

    bitmapist.setup_redis("default", "localhost", 0, unix_socket_path=socket)
    redis, seconds, count = bitmapist.get_redis("default"), [], 0
    wanted = [bitmapist.DayEvents.from_date("active", first + timedelta(days=n)) for n in range(days)]
    for _ in range(TRIES):
        start = time.perf_counter()
        count = len(bitmapist.BitOpOr(*wanted))
        seconds.append(time.perf_counter() - start)
        bitmapist.delete_runtime_bitop_keys()
    start = time.perf_counter()
    at = datetime(2030, 1, 1, tzinfo=UTC)
    for low in range(0, MARKS, 5000):
        pipe = redis.pipeline(transaction=False)
        for user in range(low, low + 5000):
            bitmapist.mark_event("bench", user, system=pipe, now=at, use_pipeline=False)
        pipe.execute()
    return {"distinct": sorted(seconds)[TRIES // 2], "count": count, "marks": MARKS / (time.perf_counter() - start)}


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], date.fromisoformat(sys.argv[3]), int(sys.argv[4]))))
