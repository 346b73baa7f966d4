"""The tests of another project that installs ``mirror`` leave the developer's keys alone, without any setting."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest
from redis import Redis

from mirror.redis import naming
from mirror.redis.keys import namespace
from tests.support.mirror.command import ROOT
from tests.support.servers import RedisServer

pytestmark = pytest.mark.also_on("cluster")
TESTS: Final = "tests.projects.bookshelf.checks"
RUNNERS: Final = {
    "manage.py test": ("-m", "django", "test", TESTS),
    "manage.py test, two workers": ("-m", "django", "test", "--parallel", "2", TESTS),
    "pytest": ("-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider", f"{TESTS.replace('.', '/')}.py"),
    "pytest, two workers": (
        "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider", "-n", "2", f"{TESTS.replace('.', '/')}.py",
    ),
}  # fmt: skip
DEVELOP: Final = """
import django
django.setup()
from django.core.management import call_command
call_command("migrate", run_syncdb=True, verbosity=0)
from mirror.upkeep import rebuild
from tests.projects.bookshelf.models import Volume
Volume.objects.create(pk=1, title="the developer's")
rebuild.rebuild()
"""
READ: Final = """
import django
django.setup()
from tests.projects.bookshelf.titles import mirrored_title
print(mirrored_title(1))
"""


class Bookshelf:
    """The project, with a directory for its database and with a Redis server."""

    def __init__(self, folder: Path, server: RedisServer) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {
            "BOOKSHELF_FOLDER": str(folder),
            "DJANGO_SETTINGS_MODULE": "tests.projects.bookshelf.settings",
            "REDIS_URL": server.url(),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments."""
        return subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )

    def namespaces(self) -> set[str]:
        """Return the namespaces of the project's test runs."""
        return {path.name for path in self.folder.iterdir() if path.name.startswith("mirror test ")}


@pytest.fixture
def bookshelf(tmp_path: Path, server: RedisServer) -> Bookshelf:
    """Create the project as its developer has it: the mirror has been rebuilt and is warm."""
    made = Bookshelf(tmp_path, server)
    done = made.run("-c", DEVELOP)
    assert done.returncode == 0, done.stderr
    return made


def dump(redis: Redis) -> dict[bytes, bytes | None]:
    """Return all keys on the server except the heartbeat, which expires."""
    beat = naming.heartbeat().encode()
    return {name: redis.dump(name) for name in redis.scan_iter(count=1000) if name != beat}


@pytest.mark.slow
@pytest.mark.parametrize("runner", RUNNERS)
def test_test_run_leaves_the_developers_keys_alone(bookshelf: Bookshelf, server: RedisServer, runner: str) -> None:
    with server.plain_client() as plain:
        before = dump(plain)
        assert b"volume:1" in before
        assert b"mirror:{warm}:volume" in before
        done = bookshelf.run(*RUNNERS[runner])
        assert done.returncode == 0, done.stdout + done.stderr
        assert dump(plain) == before
    assert len(bookshelf.namespaces()) == (2 if "two workers" in runner else 1)
    assert bookshelf.run("-c", READ).stdout.strip() == "the developer's"


@pytest.mark.slow
def test_kept_test_database_is_used_again_with_keys_of_each_run(bookshelf: Bookshelf, server: RedisServer) -> None:
    kept = bookshelf.folder / "kept.sqlite3"
    bookshelf.environment["BOOKSHELF_TEST_NAME"] = str(kept)
    with server.plain_client() as plain:
        before = dump(plain)
        for _ in range(2):
            done = bookshelf.run("-m", "django", "test", "--keepdb", TESTS)
            assert done.returncode == 0, done.stdout + done.stderr
            assert kept.exists()
        assert dump(plain) == before
    assert len(bookshelf.namespaces()) == 2


@pytest.mark.only_on("single")  # it looks at the marks or keys of one Redis by name
def test_keys_of_killed_test_runs_are_removed_a_day_later(server: RedisServer) -> None:
    now = int(time.time())
    heads = {"own": now, "another run": now - 3600, "a killed run": now - namespace.KEPT_SECONDS - 1}
    spaces = {name: f"{namespace.HEAD}{at:x}-0:{name}:" for name, at in heads.items()}
    prefix = os.environ["REDIS_PREFIX"]
    with server.plain_client() as plain:
        plain.mset({f"{prefix}{space}book:1": "" for space in spaces.values()})
        plain.mset({"book:1": "", f"{prefix}book:1": "", f"{spaces['a killed run']}book:1": ""})
        namespace.remove_keys(spaces["own"])
        assert {*plain.scan_iter()} == {
            f"{prefix}{spaces['another run']}book:1".encode(),
            f"{prefix}book:1".encode(),
            b"book:1",
            f"{spaces['a killed run']}book:1".encode(),  # of another namespace
        }
