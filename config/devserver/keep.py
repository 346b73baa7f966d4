"""Keeps one command running: ``python keep.py RUNNER_PID COMMAND...``.

Starts the command again when it ends by itself, gives up when it keeps ending at once, and stops it
when asked to (SIGTERM) or when the runner is gone, however that came about. The command has a process
group of its own: asked to stop, it sees to its children itself; what is left of the group is killed. Run
as a file, it costs no more than Python itself.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import FrameType

PATIENCE = 6  # starts in a row that may fail, at longer and longer intervals
GRACE_SECONDS = 4.0  # between asking a command to stop and making it

stopping = False


def _stop(number: int, frame: FrameType | None) -> None:
    global stopping
    stopping = True


def is_alive(pid: int) -> bool:
    """Whether there is a process ``pid``."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop the command, and whatever it leaves behind."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    _clear(process)


def _clear(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the command's group: a crashed worker's children would work on without it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def keep(runner: int, command: list[str], *, healthy_seconds: float = 10.0, pause_seconds: float = 0.25) -> int:
    """Run ``command`` until stopped; gives its last exit code, or 0 when it was stopped.

    A command that ran for ``healthy_seconds`` has started well. The pause before the next start doubles with each
    failure.
    """
    failures = 0
    while True:
        started = time.monotonic()
        process = subprocess.Popen(command, process_group=0)
        while process.poll() is None and not stopping:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
            if not is_alive(runner):
                _stop(0, None)
        if stopping:
            _end(process)
            return 0
        _clear(process)
        failures = 0 if time.monotonic() - started > healthy_seconds else failures + 1
        print(f"ended with code {process.returncode}", flush=True)
        if failures >= PATIENCE:
            return process.returncode or 1
        time.sleep(pause_seconds * 2**failures)


if __name__ == "__main__":
    with suppress(PermissionError):
        os.setsid()  # unless it leads its session already
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The runner starts its processes with these held back, and holding back is inherited.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.exit(keep(int(sys.argv[1]), sys.argv[2:]))
