"""Run the site: first Redis, then the preparations, then web, worker and beat, which stop together."""

import fcntl
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from honcho import manager
from honcho.environ import parse_procfile
from honcho.manager import Manager
from honcho.printer import Printer
from honcho.process import Process

from config import settings
from config.defaults.redis import build_embedded_url
from demo.logins import read_logins
from mirror.redis import is_cluster_url
from tools.devserver.embedded import KEEPER_PATH, EmbeddedRedis

HOST = "127.0.0.1"
# One process does the work of all workers and starts beat. The Procfile has a worker for each kind of task, so that
# they do not wait for one another. On one private machine the memory of ten processes counts more.
WORKER = (
    "celery --quiet -A config worker --beat-thread --queues relay,fanout,rebuild,default --pool threads --concurrency 6"
    " --without-gossip --without-mingle --loglevel warning"
)
# Keepers need time to stop their commands (``keep.GRACE_SECONDS``). On a busy machine, a keeper that honcho kills too
# early would leave its command running for ever.
manager.KILL_WAIT = 60


class CannotRun(Exception):
    """The site cannot be started. The message gives the reason in one line."""


class ForwardingProcess(Process):
    """Honcho's helper process, which forwards the output of one command. It also ends if the runner is killed.

    All helpers hold the pipe for output open. Without a runner to read it, a full pipe would block them for ever.
    """

    def run(self, events: Any = None, ignore_signals: bool = False) -> None:
        runner = os.getppid()
        super().run(events, ignore_signals)
        threading.Thread(target=_exit_without_runner, args=[runner], daemon=True).start()


def _exit_without_runner(runner: int) -> None:
    while os.getppid() == runner:
        time.sleep(0.2)
    os._exit(0)


class StoppableManager(Manager):
    """Honcho's manager, extended so that it can be stopped during its start."""

    def __init__(self, printer: Printer) -> None:
        super().__init__(printer)
        self._process_ctor = ForwardingProcess

    def _start(self) -> None:
        # A signal at this point would end honcho's helpers before they ignore it.
        held = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, held)
        super()._start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, held)

    def terminate(self) -> None:
        if self._all_started():
            super().terminate()
        else:
            threading.Timer(0.1, self.terminate).start()


class QuietPrinter(Printer):
    """A printer for the output of the processes, without honcho's own messages."""

    def write(self, message: object) -> None:
        if getattr(message, "name", "") != "system":
            super().write(message)


@contextmanager
def hold_run_lock(folder: Path, address: str) -> Iterator[IO[str]]:
    """Hold the folder's lock. Raises CannotRun, with the address of the running site, if the lock is taken."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "run.lock").open("a+") as lock:
        lock.seek(0)
        # The kernel releases this lock with the last process that holds it. A file with a process id could be stale.
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotRun(f"already running at {lock.read().strip() or 'another address'}") from None
        lock.truncate(0)
        lock.write(address)
        lock.flush()
        yield lock


def check_port(port: int) -> None:
    """Raise CannotRun unless ``port`` is free."""
    with socket.socket() as probe:
        # Otherwise closed connections of the last run would keep the port in use for a minute.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CannotRun(f"port {port} cannot be used ({error.strerror}): choose another with PORT=") from None


def read_port() -> int:
    """Return ``PORT``, or 8000 if it is not set. Raises CannotRun for an invalid port."""
    text = os.environ.get("PORT") or "8000"
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise CannotRun(f"PORT={text} is not a port: choose a number from 1 to 65535")
    return int(text)


def needs_embedded_redis() -> bool:
    """Return whether the state, or beside a cluster the cache or the broker, is on the embedded Redis."""
    if "REDIS_URL" not in os.environ:
        return True
    socket_path = build_embedded_url(0).removeprefix("unix://").partition("?")[0]
    urls = (str(settings.CACHES["default"]["LOCATION"]), settings.CELERY_BROKER_URL)
    return is_cluster_url(settings.REDIS_URL) and any(socket_path in url for url in urls)


def run_preparations(arguments: list[str]) -> None:
    """Prepare messages, migrations and demo data in a separate process, which frees its memory afterwards."""
    done = subprocess.run([sys.executable, "-m", "tools.devserver.prepare", *arguments], check=False)
    if done.returncode:
        raise CannotRun("the preparations failed, see above")


def list_processes() -> Iterator[tuple[str, str]]:
    """Yield name and shell command of each process, wrapped in ``keep``."""
    web = parse_procfile((settings.BASE_DIR / "Procfile").read_text()).processes["web"]
    for name, line in {"web": web, "worker": WORKER}.items():
        keeper = shlex.join([sys.executable, str(KEEPER_PATH), str(os.getpid())])
        yield name, f"exec {keeper} {line}"


def run_site(*, demo: bool) -> int:
    """Run the site until SIGINT or SIGTERM, and return the exit code.

    demo: load demo data and create the two logins first. Raises CannotRun.
    """
    port = read_port()
    address = f"http://{HOST}:{port}/"
    os.chdir(settings.BASE_DIR)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until honcho takes over
    with hold_run_lock(settings.VAR_DIR, address) as lock:
        check_port(port)
        redis = None
        if needs_embedded_redis():
            redis = EmbeddedRedis(build_embedded_url(0), settings.VAR_DIR / "redis", lock.fileno())
        try:
            if redis:
                redis.start()
            run_preparations(["--demo"] if demo else [])
            return _serve_until_stopped(port, address, demo=demo)
        except RuntimeError as error:
            raise CannotRun(str(error)) from None
        finally:
            if redis:
                redis.stop()


def _serve_until_stopped(port: int, address: str, *, demo: bool) -> int:
    here = str(Path(sys.executable).parent)
    counts = settings.VAR_DIR / "metrics"
    shutil.rmtree(counts, ignore_errors=True)  # of the last run
    environment = {
        "PROMETHEUS_MULTIPROC_DIR": str(counts),
        "LOG_FORMAT": "text",
        **os.environ,
        "PORT": str(port),
        "PATH": os.pathsep.join([here, os.environ.get("PATH", os.defpath)]),
        "PYTHONUNBUFFERED": "1",
        # Celery's five lines of warning about root do not matter for a private demo.
        "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
    }
    crew = StoppableManager(QuietPrinter(sys.stdout))
    for name, command in list_processes():
        crew.add_process(name, command, env=environment)
    threading.Thread(target=_tell_when_it_answers, args=[port, address, demo], daemon=True).start()
    crew.loop()
    return 0 if crew.returncode in (0, 130, 143) else 1


def _tell_when_it_answers(port: int, address: str, demo: bool) -> None:
    while True:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            print_addresses(address, demo=demo)
            return


def print_addresses(address: str, *, demo: bool) -> None:
    """Print the address of the site and the logins."""
    print(f"\n  {address}")
    for name, password, what in read_logins() if demo else ():
        print(f"  {what}: {name} / {password}")
    print("\n  Ctrl-C stops everything.\n", flush=True)
