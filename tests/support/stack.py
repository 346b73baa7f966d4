"""Run a copy of the project as real processes, as ``make up`` and ``make demo`` do."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from django.conf import settings
from redis import Redis

from tests.support.servers import die_with_parent, free_port, temporary_folder, wait_until

# The last two patterns match temporary names of files that another process is writing: compiled modules and messages.
LEFT_OUT = shutil.ignore_patterns(
    "var", ".git", ".venv", "*.mo", ".*_cache", ".hypothesis", "tests", "*.pyc.*", "*.tmp"
)
START_SECONDS = 900.0  # generous: migrations and six processes start while other tests use the processors
GIVEN = ("DEBUG", "REDIS_URL", "CACHE_URL", "CELERY_BROKER_URL", "DATABASE_URL", "REDIS_PREFIX", "DATA")


class Site:
    """A copy of the project that can be started, requested and stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.output = folder / "output"
        self.process: subprocess.Popen[bytes] | None = None

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in GIVEN}
        return {**kept, "DJANGO_SETTINGS_MODULE": "config.settings", "PORT": str(self.port), **more}

    def command(self, what: str) -> list[str]:
        return [sys.executable, "-m", "tools.devserver", what]

    def start(self, what: str = "up", **environment: str) -> None:
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                self.command(what),
                cwd=self.folder,
                env=self.environment(**environment),
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent(signal.SIGTERM),
            )
        wait_until(self._has_started, f"the start of the site: {self.output}", START_SECONDS)

    def _has_started(self) -> bool:
        """Return whether the site answers and has told its address."""
        return self.get("/healthz") == 200 and "Ctrl-C" in self.output.read_text()

    def get(self, path: str) -> int:
        """Return the status of a page, or 0 without an answer. Raises AssertionError when the runner has ended."""
        if self.process is None or self.process.poll() is not None:
            raise AssertionError(self.output.read_text())
        try:
            with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as response:
                return int(response.status)
        except HTTPError as error:
            return error.code
        except (URLError, OSError, HTTPException):
            return 0

    def read(self, path: str) -> str:
        """Return the text of a page."""
        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as response:
            return str(response.read(), "utf-8")

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(START_SECONDS)

    def run(self, what: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the runner and wait for its end."""
        return subprocess.run(
            self.command(what), cwd=self.folder, env=self.environment(**environment),
            capture_output=True, text=True, timeout=START_SECONDS, check=False,
        )  # fmt: skip

    def processes(self) -> list[int]:
        """Return the ids of all processes with a working directory in the copy's folder."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if Path(f"/proc/{pid}/cwd").readlink().is_relative_to(self.folder):
                    found.append(int(pid))
            except OSError:  # the process has just ended
                continue
        return found

    def memory(self) -> int:
        """Return the bytes of memory of all processes. A page that several processes share counts once."""
        total = 0
        for pid in self.processes():
            with suppress(OSError):  # the process has just ended
                found = re.search(r"^Pss: +(\d+) kB$", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
                total += int(found[1]) * 1024 if found else 0
        return total

    def redis(self) -> Redis:
        return Redis(unix_socket_path=str(self.folder / "var" / "redis" / "redis.sock"))

    def redis_pid(self) -> int:
        with self.redis() as client:
            return int(client.info("server")["process_id"])


@contextmanager
def copy_of_the_site() -> Iterator[Site]:
    """Yield a copy in a new folder, not started. Afterwards it is stopped and removed."""
    folder = temporary_folder()
    shutil.copytree(settings.BASE_DIR, folder / "site", ignore=LEFT_OUT)
    site = Site(folder / "site")
    try:
        yield site
    finally:
        if site.process is not None and site.process.poll() is None:
            site.stop(signal.SIGTERM)
        shutil.rmtree(folder)
