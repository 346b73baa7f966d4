"""Run ``manage.py mirror`` and capture its output."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[3]
ACTIONS = {
    "status": [],
    "rebuild": ["t'odd"],
    "verify": ["titem"],
    "repair": ["titem"],
    "drain": [],
    "run": ["--once"],
    "doctor": [],
    "explain": ["item", "7"],
    "uninstall": [],
}


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class Ran(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> Any:
        """Return stdout, parsed as JSON."""
        return json.loads(self.out)


def run(*arguments: str, err: io.StringIO | None = None, name: str = "mirror") -> Ran:
    """Run the command with these arguments in this process."""
    out, err = io.StringIO(), err or io.StringIO()
    try:
        call_command(name, *arguments, stdout=out, stderr=err)
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    return Ran(code, out.getvalue(), err.getvalue())


def from_shell(*arguments: str) -> Ran:
    """Run the command from a shell. Only suits arguments that are refused before SQL and Redis are needed."""
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.support.settings"}
    command = [sys.executable, "-W", "ignore", "manage.py", "mirror", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)
