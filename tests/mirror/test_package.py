"""The wheel of ``mirror`` works in an empty project without the site and without optional packages.

The project is the one of docs/mirror/tutorial.md: its commands are run, its files are written, and its session in
Python's shell must print what the page prints.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from zipfile import ZipFile

import psycopg
import pytest

from tests.support.mirror.command import ROOT
from tests.support.servers import RedisServer
from tests.support.servers.redis import main_server

pytestmark = pytest.mark.real
PAGE: Final = (ROOT / "docs" / "mirror" / "tutorial.md").read_text(encoding="utf-8")
MAX_LINES: Final = 60
DEFAULT_REDIS: Final = "redis://localhost:6379/0"
# Slow machines need more time than the page allows.
PATIENCE: Final = """
MIRROR["BUDGET_SECONDS"] = CACHES["mirror"]["OPTIONS"]["SOCKET_TIMEOUT"] = 3600
"""
# Python runs a module of this name at start-up. It refuses every package that the wheel does not require.
HOOK: Final = """
import sys

EXTRA = "{extra}"
REQUIRED = {"asgiref", "django", "django_redis", "greenlet", "orjson", "redis", "sqlparse", "tqdm", "typing_extensions"}
REQUIRED |= {"psycopg", "psycopg_binary"} if EXTRA == "postgres" else set()
REQUIRED |= {"async_timeout"} if sys.version_info < (3, 11, 3) else set()  # of redis
ALLOWED = sys.stdlib_module_names | REQUIRED | {"mirror", "mysite", "polls"}


class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in ALLOWED and not top.startswith("_"):
            raise ModuleNotFoundError(f"{top} is no requirement of the wheel", name=top)


sys.meta_path.insert(0, Refuse())
"""
RUN_SESSION: Final = """
import doctest
import sys
sys.exit(doctest.testfile("session.txt", module_relative=False, verbose=False).failed)
"""
MESSAGES: Final = "mirror/locale/zh_Hans/LC_MESSAGES/django.mo"
VISIT_ADMIN: Final = """
from django.contrib.auth.models import User
from django.test import Client
from django.utils.translation import gettext, override
client = Client(headers={"host": "localhost"})
client.force_login(User.objects.get_or_create(username="carol", is_staff=True, is_superuser=True)[0])
for page in ("state", "change"):
    print(client.get(f"/admin/mirror/{page}/").content.decode())
with override("zh-hans"):
    print(gettext("quarantined"))
"""


class Block(NamedTuple):
    """A block of code on the page. language: console (commands), pycon (a session) or python (the file ``name``)."""

    language: str
    name: str
    text: str


def read_blocks() -> list[Block]:
    """Return the blocks of code on the page."""
    pattern = r"^```(\w+)\n(?:# ([^\n]+)\n)?(.*?)^```$"
    return [Block(*found) for found in re.findall(pattern, PAGE, re.MULTILINE | re.DOTALL)]


class Project:
    """A folder with the wheel, and with the project that uses it.

    database: settings of a database on PostgreSQL, or None for the project's own on SQLite.
    """

    def __init__(self, folder: Path, wheel: Path, server: RedisServer, database: dict[str, str] | None) -> None:
        self.folder, self.wheel, self.server, self.database = folder / "project", wheel, server, database
        self.packages, hook = folder / "packages", folder / "hook"
        for made in (self.folder, hook):
            made.mkdir()
        (hook / "sitecustomize.py").write_text(HOOK.replace("{extra}", "postgres" if database else ""))
        names = ("PYTEST_", "DJANGO_", "PYTHON")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
        self.environment["PYTHONPATH"] = f"{hook}{os.pathsep}{self.packages}"
        self.session = ""

    def follow(self) -> None:
        """Do what the page says, in its order."""
        for language, name, text in read_blocks():
            if language == "console":
                for line, output in re.findall(r"^\$ (.+)\n((?:[^$].*\n)*)", text, re.MULTILINE):
                    self._run_line(line, output)
            elif language == "pycon":
                (self.folder / "session.txt").write_text(text)
                self.session = self.run("manage.py", "shell", "-v", "0", "-c", RUN_SESSION).stdout
            else:
                self._write(name, text)
        with self.server.plain_client() as redis:
            self.stored = redis.get("question:1")

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run Python in the project."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def _run_line(self, line: str, output: str) -> None:
        """Run a command of the page. output: what it must print; "" for anything."""
        program, *arguments = shlex.split(line)
        if program == "pip":
            assert arguments == ["install", "django-diptych"]
            run_pip("install", "--no-compile", "--target", self.packages, self.wheel)
            return
        done = self.run(*{"django-admin": ["-m", "django"], "python": []}[program], *arguments)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert output in ("", done.stdout)

    def _write(self, name: str, text: str) -> None:
        path, _, place = name.partition(", ")
        with (self.folder / path).open("a" if place == "at the end" else "w") as file:
            file.write(text.replace(DEFAULT_REDIS, self.server.url()))
            if path == "mysite/settings.py":
                file.write(PATIENCE)
                if self.database:
                    file.write(f'DATABASES["default"] = {self.database}\n')


def run_pip(*arguments: str | Path) -> None:
    """Run pip without a network."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", arguments[0], "--no-deps", "--no-index"]
    done = subprocess.run([*command, *arguments[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a fresh checkout, without the compiled messages that the tests need."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("mirror", "tools", "docs/mirror"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.mo", "*.pyc"))
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run_pip("wheel", "--no-build-isolation", "--wheel-dir", folder, source)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def database(postgres: bool) -> Iterator[dict[str, str] | None]:
    """Yield the settings of an empty database on the server of the tests; None on SQLite."""
    if not postgres:
        yield None
        return
    url = urlsplit(os.environ["DATABASE_URL"])
    name = f"tutorial_{os.getpid()}"
    place = {"USER": url.username, "PASSWORD": url.password, "HOST": url.hostname, "PORT": str(url.port)}
    with psycopg.connect(url._replace(path="/postgres").geturl(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": name,
            **{key: str(value) for key, value in place.items()},
        }
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, wheel: Path, database: dict[str, str] | None) -> Project:
    """Create the project of the page."""
    made = Project(tmp_path_factory.mktemp("tutorial"), wheel, main_server(), database)
    made.follow()
    return made


@pytest.mark.only_on("sqlite")
def test_wheel_contains_mirror_alone(wheel: Path) -> None:
    head = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    with ZipFile(wheel) as opened:
        names = set(opened.namelist())
        metadata = message_from_bytes(opened.read(f"{head}/METADATA"))
    kept = {str(path.relative_to(ROOT)) for path in (ROOT / "mirror").rglob("*") if path.is_file()}
    kept = {path for path in kept if not path.endswith((".pyc", ".mo"))} | {MESSAGES}
    assert {"mirror/py.typed", "mirror/visits/visit.lua", "mirror/migrations/0001_initial.py"} <= kept
    assert names == kept | {f"{head}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")}
    required = [line for line in metadata.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert {re.split(r"[^\w-]", line)[0] for line in required} == {
        *("django", "django-redis", "greenlet", "orjson", "redis", "tqdm"),
    }
    assert set(metadata.get_all("Provides-Extra") or []) == {"celery", "hiredis", "postgres", "prometheus", "unfold"}


@pytest.mark.only_on("sqlite")
def test_build_imports_only_packages_that_it_requires() -> None:
    # The fixture builds without isolation, so this environment's packages would hide a missing requirement.
    code = "import sys; known = set(sys.modules); import tools.compile_messages; print(*set(sys.modules) - known)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert imported - sys.stdlib_module_names == {"polib", "tools"}


@pytest.mark.slow
def test_tutorial_prints_what_it_says(project: Project) -> None:
    assert project.session == ""
    assert (project.folder / "db.sqlite3").exists() is (project.database is None)
    assert project.stored == b'{"choice_count":1,"choice_votes_sum":20,"choices":["yes"],"question_text":"Tea?"}'


@pytest.mark.only_on("sqlite")
@pytest.mark.slow
def test_admin_works_without_unfold_and_celery(project: Project) -> None:
    done = project.run("manage.py", "shell", "-v", "0", "-c", VISIT_ADMIN)
    assert done.returncode == 0, done.stderr
    titles = re.findall(r"<h1>(.+)</h1>", done.stdout)
    assert titles == ["Select mirror to view", "Select change to view"]
    assert done.stdout.endswith("已隔离\n")
    assert 'value="rebuild"' in done.stdout  # `mirror run` carries it out


@pytest.mark.only_on("sqlite")
def test_tutorial_is_short() -> None:
    lines = [line for block in read_blocks() for line in block.text.splitlines() if line.strip()]
    assert len(lines) <= MAX_LINES
