"""Find the tests that need not run on PostgreSQL, because other tests send the same SQL there.

    python -m tests.support.same_on_postgres       run all tests on PostgreSQL and write .ci/same_on_postgres

``.ci/test`` leaves the tests in that file out of its suite on PostgreSQL. Each of them runs on SQLite, and every kind
of SQL statement that it sends, with its error, is sent by a test that stays. A test stays if its threads or
processes use the database together, has the marker ``on_postgres``, or is new since the file was written.

As a plugin of pytest (``-p``), this module records what each test sends.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import pytest
from django.db import DatabaseError
from django.db.backends.utils import CursorWrapper

ROOT: Final = Path(__file__).resolve().parents[2]
LIST: Final = ROOT / ".ci" / "same_on_postgres"
FOLDER: Final = "DIPTYCH_TESTS_RECORDED"  # environment: where the workers write what they have recorded
HEAD: Final = "# Tests that send only SQL that other tests send, too, by `python -m tests.support.same_on_postgres`\n"
PROCESSES: Final = {"crew", "environment", "live_server"}  # fixtures of tests whose processes use the database
# What differs between two statements of one kind: values, numbers of values, and names that a process invents.
SAME: Final = [
    (re.compile(r"%s(?:\s*,\s*%s)+"), "%s"),
    (re.compile(r"\(%s\)(?:\s*,\s*\(%s\))+"), "(%s)"),
    (re.compile(r"'[^']*'"), "'text'"),
    (re.compile(r"\b(?:\d{2,}|s\d+_x\d+|test_diptych_\w+)\b"), "N"),
]


class Recorded(NamedTuple):
    """What a test did. stays: it must run on PostgreSQL, whatever other tests do."""

    statements: frozenset[str]
    seconds: float
    stays: bool


class Recorder:
    """Pytest plugin that records the statements of each test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tests: dict[str, list[object]] = {}
        self.statements: set[str] = set()
        self.is_shared = False
        for name in ("execute", "executemany"):
            setattr(CursorWrapper, name, self._noting(getattr(CursorWrapper, name)))

    def _noting(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def noting(cursor: CursorWrapper, sql: Any, *args: Any, **kwargs: Any) -> Any:
            error = ""
            try:
                return execute(cursor, sql, *args, **kwargs)
            except DatabaseError as caught:
                error = type(caught).__name__
                raise
            finally:
                self.statements.add(f"{kind_of(str(sql))} {error}")
                self.is_shared |= threading.current_thread() is not threading.main_thread()

        return noting

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.statements, self.is_shared, began = set(), False, time.process_time()
        done = yield
        has_processes = not PROCESSES.isdisjoint(getattr(item, "fixturenames", ()))
        stays = self.is_shared or has_processes or item.get_closest_marker("on_postgres") is not None
        self.tests[item.nodeid] = [sorted(self.statements), time.process_time() - began, stays]
        return done

    def pytest_sessionfinish(self) -> None:
        (self.folder / f"{os.getpid()}.json").write_text(json.dumps(self.tests))


def kind_of(sql: str) -> str:
    """Return the statement without values, which two statements of one kind share."""
    for pattern, replacement in SAME:
        sql = pattern.sub(replacement, sql)
    return sql


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(Path(os.environ[FOLDER])))


@cache
def _read() -> frozenset[str]:
    return frozenset(LIST.read_text().splitlines()[1:])


def is_same(item: pytest.Item) -> bool:
    """Return whether the file names this test, or its function for any parameters."""
    return not {item.nodeid, _function(item.nodeid)}.isdisjoint(_read())


def _function(name: str) -> str:
    return name.partition("[")[0]


def choose(tests: dict[str, Recorded]) -> list[str]:
    """Return the tests, or functions with all parameters, to leave out. Cheap tests with much SQL stay first."""
    sent = Counter(kind for test in tests.values() if test.stays for kind in test.statements)
    left = {name: test.statements - sent.keys() for name, test in tests.items() if not test.stays}
    while any(left.values()):
        name = max(left, key=lambda name: len(left[name]) / (tests[name].seconds + 0.05))
        new = left.pop(name)
        left = {name: missing - new for name, missing in left.items()}
    stay = {_function(name) for name in tests.keys() - left.keys()}
    return sorted({name if _function(name) in stay else _function(name) for name in left})


def main() -> int:
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "4", "--dist", "worksteal", "--on", "postgres"]
        command += ["-m", "not browser", "-p", "tests.support.same_on_postgres"]
        code = subprocess.run(command, cwd=ROOT, env={**os.environ, FOLDER: folder}, check=False).returncode
        if code:
            return code
        tests = {
            name: Recorded(frozenset(statements), seconds, stays)
            for file in Path(folder).iterdir()
            for name, (statements, seconds, stays) in json.loads(file.read_text()).items()
        }
    LIST.write_text(HEAD + "".join(f"{name}\n" for name in choose(tests)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
