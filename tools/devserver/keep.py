"""Keep one command running: ``python keep.py RUNNER_PID COMMAND...``.

The keeper restarts the command when it ends by itself, and gives up when the command keeps ending early. It stops the
command on SIGTERM, or when the runner has disappeared for any reason. The command has its own process group. On a stop
it ends its children itself, and the keeper kills the remaining processes of the group. This file imports nothing but
the standard library, so it costs no more than Python itself.
"""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import FrameType

MAX_FAILED_STARTS = 6  # consecutive starts that may fail, at growing intervals
GRACE_SECONDS = 4.0  # between the request to stop and the kill

stopping = False


def _request_stop(number: int, frame: FrameType | None) -> None:
    global stopping
    stopping = True


def is_alive(pid: int) -> bool:
    """Return whether the process ``pid`` exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # The process exists, and belongs to another user.
    except PermissionError:
        return True
    return True


def _wait_for_end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until the command has ended, for at most ``seconds``."""
    if not hasattr(os, "pidfd_open"):  # only Linux has it; elsewhere ``wait`` looks twenty times a second
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return
    end = os.pidfd_open(process.pid)
    try:
        select.select([end], [], [], seconds)
    finally:
        os.close(end)


def _stop_command(process: subprocess.Popen[bytes]) -> None:
    """Stop the command and all processes of its group."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    _kill_group(process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the remaining processes of the command's group, because children of a crashed worker would continue."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def keep_running(runner: int, command: list[str], *, healthy_seconds: float = 10.0, pause_seconds: float = 0.25) -> int:
    """Run ``command`` until a stop is requested. Return 0 after a stop, or the last exit code after giving up.

    A run of less than ``healthy_seconds`` counts as a failure. The pause before the next start doubles with each
    consecutive failure.
    """
    failures = 0
    while True:
        started = time.monotonic()
        process = subprocess.Popen(command, process_group=0)
        while process.poll() is None and not stopping:
            _wait_for_end(process, 0.5)
            if not is_alive(runner):
                _request_stop(0, None)
        if stopping:
            _stop_command(process)
            return 0
        _kill_group(process)
        failures = 0 if time.monotonic() - started > healthy_seconds else failures + 1
        print(f"ended with code {process.returncode}", flush=True)
        if failures >= MAX_FAILED_STARTS:
            return process.returncode or 1
        time.sleep(pause_seconds * 2**failures)


if __name__ == "__main__":
    with suppress(PermissionError):
        os.setsid()  # fails if the process is already a group leader
    signal.signal(signal.SIGTERM, _request_stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The runner starts its processes with these signals blocked, and child processes inherit the block.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.exit(keep_running(int(sys.argv[1]), sys.argv[2:]))
