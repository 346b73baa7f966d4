"""The environment file means the same for a shell, for ``manage.py``, and by the rules of systemd and compose."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings as site

from tests.support.deploy import files

HARD: Final = 'a <b>&c;$HOME `d` #e "f" !g *'
PRINT: Final = (
    "import os, config.environment; print(os.environ['DEFAULT_FROM_EMAIL'], os.environ['REDIS_URL'], sep='\\n')"
)


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with almost no environment, as an operator who has just logged in."""
    return subprocess.run(
        command, env={"PATH": os.environ["PATH"], "HOME": "/nowhere", **environment}, cwd=site.BASE_DIR,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the example, filled in, with a value that has every character of a shell but quotes and backslashes."""
    text = (files.DEPLOY / "production.env.example").read_text()
    path = tmp_path / "production.env"
    path.write_text(re.sub("^DEFAULT_FROM_EMAIL=.*$", lambda _: f"DEFAULT_FROM_EMAIL='{HARD}'", text, flags=re.M))
    return path


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_shell_and_manage_py_read_the_same(file: Path, shell: str) -> None:
    expected = [HARD, files.read_environment()["REDIS_URL"].replace(files.PASSWORD, "PASSWORD")]
    by_shell = run(shell, "-c", f'. {file}; printf \'%s\\n\' "$DEFAULT_FROM_EMAIL" "$REDIS_URL"')
    assert (by_shell.stdout.splitlines(), by_shell.stderr) == (expected, "")
    by_python = run(sys.executable, "-c", PRINT, ENVIRONMENT_FILE=str(file))
    assert (by_python.stdout.splitlines(), by_python.stderr) == (expected, "")
    given = run(sys.executable, "-c", PRINT, ENVIRONMENT_FILE=str(file), DEFAULT_FROM_EMAIL="given")
    assert given.stdout.splitlines() == ["given", expected[1]]


def test_every_value_is_quoted_as_systemd_and_compose_understand_it() -> None:
    lines = (files.DEPLOY / "production.env.example").read_text().splitlines()
    values = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in values if not re.fullmatch(r"[A-Z_]+='[^'\\]*'", line)] == []
    assert len(values) > 10


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    """A folder is as unreadable for root, who may run the tests, as a file of root is for others."""
    path = tmp_path / "production.env"
    path.mkdir()
    ended = run(sys.executable, "-c", PRINT, ENVIRONMENT_FILE=str(path))
    assert f"{path} is not readable by this user" in ended.stderr
