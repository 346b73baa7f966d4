"""The whole site as processes on servers of their own, and the faults that can happen to them."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from honcho.environ import parse_procfile
from redis import Redis

from demo.environment import generate_environment
from tests.storm.cluster import KINDS as CLUSTER_KINDS
from tests.storm.cluster import StateCluster
from tests.support.faults.crew import WORKER, Crew
from tests.support.faults.forked import Forked
from tests.support.servers import (
    PATIENCE_SECONDS,
    PostgresServer,
    RedisServer,
    die_with_parent,
    free_port,
    temporary_folder,
    wait_until,
)

ROOT = Path(__file__).resolve().parent.parent.parent
REDIS_NAMES = ("state", "cache", "broker")
REDIS_KINDS = ("kill", "stop", "empty", "roll back", "fill", "partition")
DATABASE = "storm"
TEND_SECONDS = 0.2
STANDALONE_RELAY = "django mirror run"


def execute(command: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Run ``python -m COMMAND`` as users do. ``Forked`` costs less processor time."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )


class LastingPostgres(PostgresServer):
    """A PostgreSQL that has written an acknowledged commit before it is killed. Faults concern all its processes."""

    def command(self) -> list[str]:
        return [*super().command(), "-c", "synchronous_commit=on"]

    def kill(self) -> None:
        children = find_children(self.pid)
        super().kill()
        send_signal(children, signal.SIGKILL)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children), "the end of PostgreSQL")

    def freeze(self) -> None:
        self._frozen = [*find_children(self.pid), self.pid]
        send_signal(self._frozen, signal.SIGSTOP)

    def thaw(self) -> None:
        send_signal(self.__dict__.pop("_frozen", []), signal.SIGCONT)

    def allow_connections(self, allowed: bool) -> None:
        """Open or close the database to everyone; closing cuts all connections."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {DATABASE} ALLOW_CONNECTIONS {allowed}")
            if not allowed:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [DATABASE]
                )


def find_children(pid: int) -> list[int]:
    """Return the ids of the child processes."""
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def send_signal(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to these processes; those that have ended are skipped."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


class Stack:
    """Three Redis servers, SQL, and the processes of the Procfile.

    relay: "celery", or "run" for ``mirror run``. on_cluster: the state is on a Redis Cluster. is_small:
    one web worker, and one Celery worker for all queues, with beat.
    """

    def __init__(self, on: str, relay: str, *, on_cluster: bool, is_small: bool) -> None:
        self.folder, self.relay = temporary_folder(), relay
        self.restarts: Counter[str] = Counter()  # of processes that ended by themselves
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        # Fills and partitions need an own connection, opened before.
        self.cluster = StateCluster().start() if on_cluster else None
        single = [name for name in REDIS_NAMES if name != "state" or self.cluster is None]
        self.redis = {name: RedisServer().start() for name in single}
        self.admin: dict[str, Redis] = {name: server.plain_client() for name, server in self.redis.items()}
        self.postgres = self._start_postgres() if on == "postgres" else None
        self.environment = self._build_environment()
        launch = Forked if is_small else execute
        self.crew = Crew({**os.environ, **self.environment}, self.folder, self.redis["broker"], launch)
        lines = parse_procfile((ROOT / "Procfile").read_text()).processes
        self.commands = {name: re.sub(r"\$\{PORT:-\d+\}", str(self.port), line) for name, line in lines.items()}
        if is_small:
            web = self.commands["web"].replace("--workers 2", "--workers 1")
            self.commands = {"web": web, "worker": f"{WORKER} --beat-thread"}
        elif relay == "run":
            self.commands["relay"] = STANDALONE_RELAY

    def _start_postgres(self) -> LastingPostgres:
        server = LastingPostgres()
        server.start()
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        return server

    def _build_environment(self) -> dict[str, str]:
        sqlite = f"sqlite:///{self.folder / 'db.sqlite3'}"
        return {
            **generate_environment(self.url),
            "DJANGO_SETTINGS_MODULE": "tests.storm.settings",
            "STORM_FOLDER": str(self.folder),
            "PORT": str(self.port),
            "REDIS_PREFIX": "",
            "REDIS_URL": self.cluster.url if self.cluster else self.redis["state"].url(),
            "CACHE_URL": self.redis["cache"].url(),
            "CELERY_BROKER_URL": self.redis["broker"].url(),
            "DATABASE_URL": self.postgres.url(DATABASE) if self.postgres else sqlite,
            "EMAIL_URL": "dummymail://",
            "PROMETHEUS_MULTIPROC_DIR": str(self.folder / "metrics"),
            "PYTHONWARNINGS": "ignore",
        }

    def start(self) -> None:
        """Start all processes of the site. Call this in the main thread."""
        for name in self.commands:
            self.start_process(name)

    def start_process(self, name: str) -> None:
        """Start one process of the site."""
        self.crew.start(name, self.commands[name])

    def tend(self, seconds: float) -> None:
        """Let time pass, and start processes of the site again that end by themselves, as systemd does."""
        end = time.monotonic() + seconds
        while True:
            for name in self.commands:
                if name in self.crew.children and self.crew.children[name].poll() is not None:
                    self.restarts[name] += 1
                    self.start_process(name)
            if time.monotonic() >= end:
                return
            time.sleep(min(TEND_SECONDS, max(0.0, end - time.monotonic())))

    def stop(self) -> None:
        """Kill all processes and servers."""
        self.crew.kill_all()
        for client in self.admin.values():
            client.close()
        for server in [*self.redis.values(), *filter(None, [self.postgres])]:
            server.close()
        if self.cluster:
            self.cluster.close()

    def state_client(self) -> Redis:
        """Return an unrecorded client of the state."""
        return self.cluster.client() if self.cluster else self.admin["state"]

    def list_kinds(self, name: str) -> tuple[str, ...]:
        """Return the kinds of faults that can happen to a Redis."""
        return CLUSTER_KINDS if name == "state" and self.cluster else REDIS_KINDS

    @contextmanager
    def fault(self, name: str, kind: str) -> Iterator[None]:
        """Let something happen to a server or process, and undo it afterwards."""
        if name == "state" and self.cluster:
            happen = self.cluster.fail(kind)
        elif name in self.redis:
            happen = self._fail_redis(name, kind)
        elif name == "sql":
            happen = self._fail_sql(kind)
        else:
            happen = self._fail_process(name, kind)
        next(happen)
        yield
        next(happen, None)

    def _fail_redis(self, name: str, kind: str) -> Iterator[None]:
        server, admin = self.redis[name], self.admin[name]
        match kind:
            case "kill":
                server.kill()
                yield
                server.start()
            case "stop":
                server.freeze()
                yield
                server.thaw()
            case "empty":
                server.flush()
                yield
            case "roll back":
                server.restore_aof(self.folder / f"older-{name}")
                server.start()
                yield
            case "fill":
                admin.config_set("maxmemory", 1)
                yield
                admin.config_set("maxmemory", 0)
            case "partition":
                closed = server.socket.with_suffix(".closed")
                admin.ping()
                server.socket.rename(closed)
                admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
                yield
                closed.rename(server.socket)

    def keep_older_file(self, name: str) -> None:
        """Copy the append-only file of a Redis, for a later "roll back"."""
        self.redis[name].copy_aof(self.folder / f"older-{name}")

    def _fail_sql(self, kind: str) -> Iterator[None]:
        if self.postgres is None:  # SQLite has no server; another program can hold its lock
            self.crew.start("holder", "tests.storm.staff hold")
            wait_until(lambda: "held" in self.crew.said("holder"), "the lock of SQLite")
            yield
            self.crew.kill("holder")
            return
        match kind:
            case "kill":
                self.postgres.kill()
                yield
                self._start_again(self.postgres)
            case "stop":
                self.postgres.freeze()
                yield
                self.postgres.thaw()
            case "partition":
                self.postgres.allow_connections(False)
                yield
                self.postgres.allow_connections(True)

    def _start_again(self, server: LastingPostgres) -> None:
        """Start a killed PostgreSQL. It refuses while its shared memory is still in use."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                server.start()
                return
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def _fail_process(self, name: str, kind: str) -> Iterator[None]:
        main = self.crew.children[name].pid
        if name == "web":  # one of the workers, which the main process replaces
            send_signal(find_children(main)[:1], signal.SIGKILL)
            yield
        elif kind == "stop":
            os.killpg(main, signal.SIGSTOP)
            yield
            os.killpg(main, signal.SIGCONT)
        else:
            self.crew.kill(name)
            yield
            self.start_process(name)
