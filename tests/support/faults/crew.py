"""Real processes that can be killed."""

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mirror.redis import naming
from tests.support.faults.forked import Forked
from tests.support.faults.standing import SAYS
from tests.support.servers import RedisServer, wait_until

WORKER = "celery -A config worker -Q relay,fanout,rebuild,default -c 2 --without-mingle --without-gossip -l warning"
ALONE = WORKER.replace("-c 2", "-c 1")  # one process does all the work, so that calls can be counted
BEAT = "celery -A config beat --pidfile= -l warning"
Child = Forked | subprocess.Popen[bytes]


class Crew:
    """Child processes on the test's database and Redis, each in its own process group."""

    def __init__(
        self, environment: dict[str, str], folder: Path, server: RedisServer, launch: Callable[..., Child] = Forked
    ) -> None:
        self.environment, self.folder, self.server, self.launch = environment, folder, server, launch
        self.children: dict[str, Child] = {}

    def start(self, name: str, command: str, **environment: str) -> Child:
        """Run ``python -m COMMAND`` under this name. Its output is appended to NAME.log in the folder."""
        log = self.folder / f"{name}.log"
        self.children[name] = self.launch(command.split(), {**self.environment, **environment}, log)
        return self.children[name]

    def worker(self) -> None:
        """Start a Celery worker with two processes."""
        self.start("worker", WORKER)

    def kill_standing(self, name: str, command: str, where: str) -> None:
        """Run this command until it pauses at ``where`` (see ``tests.support.faults.standing``), and kill it there."""
        before = self.said(name).count(SAYS)
        child = self.start(name, command, STANDS_STILL=where)
        wait_until(lambda: self.said(name).count(SAYS) > before or child.poll() is not None, f"{name} at {where}")
        assert child.poll() is None, self.said(name)
        self.kill(name)
        self.let_go()

    def beat(self) -> None:
        """Start beat, which requests a sweep every second."""
        self.start("beat", f"{BEAT} -s {self.folder / 'schedule'}")

    def kill(self, name: str) -> None:
        """Send SIGKILL to all processes of this child at once."""
        child = self.children.pop(name)
        if child.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended by itself
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def let_go(self) -> None:
        """Delete the leases of killed processes instead of waiting seconds for their end."""
        with self.server.client() as client:
            for name in client.scan_iter(naming.lease("*")):
                client.delete(name)

    def kill_all(self) -> None:
        """Kill all children that still run."""
        for name in list(self.children):
            self.kill(name)

    def show(self) -> None:
        """Print the output of all children. pytest shows it if the test fails."""
        for log in sorted(self.folder.glob("*.log")):
            print(f"--- {log.stem}", self.said(log.stem)[-5000:], sep="\n")

    def said(self, name: str) -> str:
        """Return a child's output, or "" without any."""
        log = self.folder / f"{name}.log"
        return log.read_text(errors="replace") if log.exists() else ""
