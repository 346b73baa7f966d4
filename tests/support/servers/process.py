"""A server as a child process with its own folder."""

import atexit
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE_SECONDS = 300.0  # generous, because other tests use the processors too
_PR_SET_PDEATHSIG = 1
_held: list[socket.socket] = []


def wait_until(condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Return as soon as ``condition()`` is true. Raises TimeoutError, which names ``what`` did not happen."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not happen within {seconds:g} s")
        time.sleep(0.01)


def free_port() -> int:
    """Return a free TCP port. On Linux it stays reserved for sockets with SO_REUSEADDR."""
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Of all addresses: a client that binds to 127.0.0.2 could otherwise get it, and nginx listens on all.
    probe.bind(("", 0))
    port = int(probe.getsockname()[1])
    if sys.platform == "linux":  # here a bound socket does not keep a server from listening
        _held.append(probe)
    else:
        probe.close()
    return port


def die_with_parent(last_signal: signal.Signals = signal.SIGKILL) -> Callable[[], None] | None:
    """Return a ``preexec_fn`` that makes the kernel send ``last_signal`` to the child when its parent dies."""
    if sys.platform != "linux":
        return None
    # Looked up here, because loading a library between fork and exec can deadlock on a lock held by another thread.
    prctl, number = ctypes.CDLL(None, use_errno=True).prctl, int(last_signal)
    return lambda: prctl(_PR_SET_PDEATHSIG, number) and None


def temporary_folder(owner: int | None = None) -> Path:
    """Create a private folder with a path short enough for a Unix socket."""
    parent = tempfile.gettempdir()
    if len(parent) > 60 or (owner is not None and not os.access(parent, os.X_OK)):
        parent = "/tmp"
    folder = Path(tempfile.mkdtemp(prefix="diptych-", dir=parent))
    if owner is not None:
        os.chown(folder, owner, owner)
    return folder


class Server:
    """A child process with a folder. Subclasses define the command line and the readiness check."""

    stop_signal = signal.SIGTERM
    user: int | None = None

    def __init__(self) -> None:
        self.folder = temporary_folder(self.user)
        self.process: subprocess.Popen[bytes] | None = None
        self.log = self.folder / "log"
        atexit.register(self.close)

    def command(self) -> list[str]:
        """Return the command line."""
        raise NotImplementedError

    def is_ready(self) -> bool:
        """Return whether the server answers."""
        raise NotImplementedError

    def start(self) -> Self:
        """Start the server and return when it answers. Raises RuntimeError with the log if it ends."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                user=self.user,
                group=self.user,
                extra_groups=None if self.user is None else [],
                preexec_fn=die_with_parent(self.stop_signal),
            )
        wait_until(self._ready_or_dead, f"the start of {self.command()[0]}")
        return self

    def _ready_or_dead(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise RuntimeError(f"{self.command()[0]} ended: {self.log.read_text(errors='replace')[-2000:]}")
        return self.is_ready()

    @property
    def pid(self) -> int:
        """The process id. Raises RuntimeError when the server is not running."""
        if self.process is None:
            raise RuntimeError("the server is not running")
        return self.process.pid

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def freeze(self) -> None:
        """Suspend the process (SIGSTOP). It keeps its connections and no longer answers."""
        self._signal(signal.SIGSTOP)
        # Wait until the signal has taken effect.
        if self.process is not None and self.process.poll() is None and hasattr(os, "waitid"):
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        """Resume the process (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        self._signal(number)
        self.thaw()
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self.process.wait()
        self.process = None

    def kill(self) -> None:
        """Kill the process with SIGKILL, as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop the process in an orderly way."""
        self._end(self.stop_signal)

    def restart(self) -> Self:
        """Kill the process if it runs, and start it again with the same data and address."""
        self.kill()
        return self.start()

    def close(self) -> None:
        """Stop the process and remove its folder. May be called more than once."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self if self.process else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
