"""Copies of a database, with the tools of its vendor."""

import os
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Protocol

from django.db import connections

from config.copies.manifest import CopyError
from mirror.capture import install

LINES_OF_ERROR: Final = 3


class Database(Protocol):
    """A database that can be copied. file_name: the name of its file in a copy."""

    file_name: str

    def __init__(self, alias: str) -> None: ...

    def check_tools(self) -> str:
        """Return the server's version. Raises CopyError if a program is missing."""

    def dump(self, path: Path) -> None:
        """Write the database, as it is at one moment, to a file. Raises CopyError."""

    def load(self, path: Path) -> None:
        """Replace everything in the database by the copy in a file. Raises CopyError."""


class SqliteDatabase:
    """SQLite, by its backup API."""

    file_name = "site.sqlite3"

    def __init__(self, alias: str) -> None:
        self.connection = connections[alias]
        self.path = str(self.connection.settings_dict["NAME"])

    def check_tools(self) -> str:
        return sqlite3.sqlite_version

    def dump(self, path: Path) -> None:
        with closing(sqlite3.connect(self.path)) as source:
            _copy_sqlite(source, str(path))
        with closing(sqlite3.connect(path)) as copy:
            copy.execute("PRAGMA journal_mode=DELETE")  # so that the copy is one file

    def load(self, path: Path) -> None:
        self.connection.close()
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as source:
            _copy_sqlite(source, self.path)


def _copy_sqlite(source: sqlite3.Connection, path: str) -> None:
    try:
        with closing(sqlite3.connect(path)) as target:
            source.backup(target)
    except sqlite3.Error as error:
        raise CopyError(f"{path}: {error}") from error


class PostgresDatabase:
    """PostgreSQL, by ``pg_dump`` and ``pg_restore``."""

    file_name = "site.dump"

    def __init__(self, alias: str) -> None:
        self.connection: Any = connections[alias]

    def check_tools(self) -> str:
        self.connection.ensure_connection()
        for name in ("pg_dump", "pg_restore"):
            self._find(name)
        return str(self.connection.pg_version)

    def dump(self, path: Path) -> None:
        self.run("pg_dump", "--format=custom", f"--file={path}")

    def load(self, path: Path) -> None:
        with self.connection.cursor() as cursor:
            names = self.connection.introspection.table_names(cursor)
            if names:
                install.uninstall(self.connection.alias)  # the functions of the triggers would remain
            for name in names:
                cursor.execute(f"DROP TABLE IF EXISTS {self.connection.ops.quote_name(name)} CASCADE")
        self.connection.close()
        self.run("pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", str(path))

    def run(self, name: str, *arguments: str) -> None:
        """Run a program on this database. The password is in its environment. Raises CopyError."""
        command, given = self.connection.client.settings_to_cmd_args_env(self.connection.settings_dict, [])
        program = [self._find(name), *command[1:-1], f"--dbname={command[-1]}", *arguments]
        ended = subprocess.run(
            program, env={**os.environ, **(given or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if ended.returncode:
            raise CopyError(" ".join(ended.stderr.split("\n")[:LINES_OF_ERROR]) or f"{name} failed")

    def _find(self, name: str) -> str:
        """Return the path of a program that is not older than the server. Raises CopyError."""
        major = self.connection.pg_version // 10_000
        places = os.pathsep.join([f"/usr/lib/postgresql/{major}/bin", os.environ.get("PATH", os.defpath)])
        found = shutil.which(name, path=places)
        if found is None:
            raise CopyError(f"{name} is not installed: install the client programs of PostgreSQL {major}")
        output = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
        version = re.search(r"(\d+)", output)
        if version is None or int(version[1]) < major:
            raise CopyError(f"{found} is too old for PostgreSQL {major}: {output.strip()}")
        return found


_DATABASES: Final[dict[str, type[Database]]] = {"sqlite": SqliteDatabase, "postgresql": PostgresDatabase}


def get_database(alias: str) -> Database:
    """Return the database of an alias. Raises CopyError unless it is SQLite or PostgreSQL."""
    vendor = connections[alias].vendor
    if vendor not in _DATABASES:
        raise CopyError(f"backups of {vendor} are not supported")
    return _DATABASES[vendor](alias)
