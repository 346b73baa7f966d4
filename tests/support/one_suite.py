"""Find the tests that need not run on both databases, because other tests send the same commands there.

    python -m tests.support.one_suite       run all tests on both and write .ci/only_on_sqlite and .ci/only_on_postgres

``.ci/test`` leaves the tests in the first file out of its suite on PostgreSQL, and those in the second out of its suite
on SQLite. Every kind of SQL statement (with its error) and of Redis command that such a test sends in the suite that
leaves it out is sent there by a test that stays. A test stays in both suites if its threads or processes use the
servers together, if it explores with a state machine, or if it is new since the files were written.

As a plugin of pytest (``-p``), this module records what each test sends.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import pytest
from django.db import DatabaseError
from django.db.backends.utils import CursorWrapper

from mirror.redis import recorder

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = "DIPTYCH_TESTS_RECORDED"  # environment: where the workers write what they have recorded
HEAD: Final = "# Tests that run on one database, written by `python -m tests.support.one_suite`\n"
WORD: Final = re.compile(r"[A-Z]{2,}")  # an option of a Redis command
# What differs between two statements of one kind: values, numbers of values, and names that a process invents.
SAME: Final = [
    (re.compile(r"%s(?:\s*,\s*%s)+"), "%s"),
    (re.compile(r"\(%s\)(?:\s*,\s*\(%s\))+"), "(%s)"),
    (re.compile(r"'[^']*'"), "'text'"),
    (re.compile(r"\b(?:\d{2,}|s\d+_x\d+|test_diptych_\w+)\b"), "N"),
]


class Recorded(NamedTuple):
    """What a test did. stays: it must run on this database, whatever other tests do."""

    sent: frozenset[str]
    seconds: float
    stays: bool


class Recorder:
    """Pytest plugin that records the kinds of statements and commands of each test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tests: dict[str, list[object]] = {}
        self.sent: set[str] = set()
        self.is_shared = False
        for name in ("execute", "executemany"):
            setattr(CursorWrapper, name, self._noting(getattr(CursorWrapper, name)))
        vars(recorder)["redis_sent"] = self._noting_commands(recorder.redis_sent)

    def _noting(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def noting(cursor: CursorWrapper, sql: Any, *args: Any, **kwargs: Any) -> Any:
            error = ""
            try:
                return execute(cursor, sql, *args, **kwargs)
            except DatabaseError as caught:
                error = type(caught).__name__
                raise
            finally:
                self.sent.add(f"{kind_of(str(sql))} {error}")
                self.is_shared |= threading.current_thread() is not threading.main_thread()

        return noting

    def _noting_commands(self, send: Callable[[Iterable[tuple[Any, ...]]], None]) -> Callable[..., None]:
        def noting(commands: Iterable[tuple[Any, ...]]) -> None:
            commands = list(commands)
            self.sent.update(map(kind_of_command, commands))
            send(commands)

        return noting

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.sent, self.is_shared, began = set(), False, time.process_time()
        done = yield
        stays = self.is_shared or any(map(item.get_closest_marker, ("real", "on_postgres")))
        stays |= "run_machine" in vars(getattr(item, "module", object))
        self.tests[item.nodeid] = [sorted(self.sent), time.process_time() - began, stays]
        return done

    def pytest_sessionfinish(self) -> None:
        (self.folder / f"{os.getpid()}.json").write_text(json.dumps(self.tests))


def kind_of(sql: str) -> str:
    """Return the statement without values, which two statements of one kind share."""
    for pattern, replacement in SAME:
        sql = pattern.sub(replacement, sql)
    return sql


def kind_of_command(command: Sequence[Any]) -> str:
    """Return the name of a Redis command with its options, or with the hash of its script."""
    name, *arguments = command
    script = arguments[:1] if name in ("EVALSHA", "FCALL") else ()
    return " ".join([name, *map(str, script), *(str(a) for a in arguments if isinstance(a, str) and WORD.fullmatch(a))])


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(Path(os.environ[FOLDER])))


def _list_for(database: str) -> Path:
    return ROOT / ".ci" / f"only_on_{database}"


@cache
def _read(database: str) -> frozenset[str]:
    return frozenset(_list_for(database).read_text().splitlines()[1:])


def is_only_on(database: str, item: pytest.Item) -> bool:
    """Return whether the file of this database names the test, or its function for any parameters."""
    return not {item.nodeid, _function(item.nodeid)}.isdisjoint(_read(database))


def _function(name: str) -> str:
    return name.partition("[")[0]


def choose(tests: dict[str, Recorded]) -> set[str]:
    """Return the tests to leave out. Cheap tests that send much stay first."""
    sent = {kind for test in tests.values() if test.stays for kind in test.sent}
    left = {name: test.sent - sent for name, test in tests.items() if not test.stays}
    while any(left.values()):
        name = max(left, key=lambda name: len(left[name]) / (tests[name].seconds + 0.05))
        new = left.pop(name)
        left = {name: missing - new for name, missing in left.items()}
    return set(left)


def shorten(left_out: set[str], tests: Iterable[str]) -> list[str]:
    """Name functions whose parameters are all left out without parameters."""
    stay = {_function(name) for name in set(tests) - left_out}
    return sorted({name if _function(name) in stay else _function(name) for name in left_out})


def _record(database: str) -> dict[str, Recorded]:
    """Run all tests on this database. Raises CalledProcessError if they fail."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "4", "--dist", "worksteal", "--on", database]
    command += ["-m", "not browser", "-p", "tests.support.one_suite"]
    with TemporaryDirectory() as folder:
        subprocess.run(command, cwd=ROOT, env={**os.environ, FOLDER: folder}, check=True)
        return {
            name: Recorded(frozenset(sent), seconds, stays)
            for file in Path(folder).iterdir()
            for name, (sent, seconds, stays) in json.loads(file.read_text()).items()
        }


def main() -> None:
    """Record both suites and write both files."""
    tests = _record("postgres")
    left_out = choose(tests)
    also = tests.keys() - left_out
    _list_for("sqlite").write_text(HEAD + "".join(f"{name}\n" for name in shorten(left_out, tests)))
    tests = {name: test if name in also else test._replace(stays=True) for name, test in _record("sqlite").items()}
    left_out = choose(tests)
    _list_for("postgres").write_text(HEAD + "".join(f"{name}\n" for name in shorten(left_out, tests)))


if __name__ == "__main__":
    main()
