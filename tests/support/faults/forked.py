"""Processes like ``python -m COMMAND``, forked from a server that has imported the libraries.

The imports cost a second of processor time, so each process that runs tests pays them once. The server imports no app
and no settings: a child reads them from its own environment, as after an exec. Only PYTHON... variables have no effect.
"""

import atexit
import functools
import gc
import importlib
import os
import runpy
import signal
import socket
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from tests.support.servers import die_with_parent

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = (
    "PIL.ImageDraw", "billiard.popen_fork", "billiard.sharedctypes", "celery.app.amqp", "celery.app.control",
    "celery.app.events", "celery.app.log", "celery.apps.beat", "celery.apps.worker", "celery.backends.base",
    "celery.bin.celery", "celery.concurrency.prefork", "celery.concurrency.thread", "celery.contrib.django.task",
    "celery.fixups.django", "celery.worker.autoscale", "celery.worker.consumer", "celery.worker.strategy",
    "confusable_homoglyphs.confusables", "cryptography.fernet", "cryptography.hazmat.primitives.twofactor.totp",
    "csp.middleware", "django.contrib.admin.templatetags.admin_list", "django.contrib.messages.middleware",
    "django.contrib.postgres.fields", "django.contrib.sessions.middleware", "django.contrib.sitemaps.views",
    "django.contrib.staticfiles.checks", "django.contrib.syndication.views", "django.core.mail.backends.smtp",
    "django.core.management.commands.makemigrations", "django.core.management.commands.migrate",
    "django.db.backends.postgresql.base", "django.db.backends.sqlite3.base", "django.middleware.clickjacking",
    "django.middleware.common", "django.middleware.locale", "django.middleware.security",
    "django.template.loaders.app_directories", "django.template.loaders.cached", "django.templatetags.cache",
    "django.templatetags.l10n", "django.templatetags.tz", "django.test.signals", "django.utils.translation.reloader",
    "django_htmx.http", "django_htmx.middleware", "django_redis.cache", "django_redis.client",
    "django_redis.compressors.identity", "django_redis.serializers.pickle", "environ", "getpass", "granian.server",
    "idna", "kombu.transport.redis", "numpy.typing", "orjson", "prometheus_client.multiprocess", "psycopg_pool",
    "pyroaring", "pytest_django.fixtures", "rapidfuzz.distance", "regex", "segno", "structlog", "tqdm", "unfold",
    "webauthn", "whitenoise.middleware", "whitenoise.runserver_nostatic", "xml.etree.ElementTree",
)  # fmt: skip


class Forked:
    """A child process with a process group of its own, and the part of ``subprocess.Popen`` that tests use."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.command = command
        self.returncode: int | None = None
        self._keeper, theirs = Pipe()
        with theirs:
            socket.send_fds(_server(), [b"."], [theirs.fileno()])
        self._keeper.send((command, environment, log))
        self.pid: int = self._keeper.recv()

    def poll(self) -> int | None:
        """Return the exit code, a negative number after a signal, or None while the process runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when the process has ended. Raises TimeoutExpired."""
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.command, timeout or 0)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and self._keeper.poll(timeout):
            self.returncode = self._keeper.recv()
            self._keeper.close()
        return self.returncode


@functools.cache
def _server() -> socket.socket:
    """Start the server of this process. It ends when this process closes the socket or dies."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        server = subprocess.Popen(
            command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    atexit.register(server.wait)
    atexit.register(ours.close)  # runs first
    return ours


def _wait_for_command(requests: socket.socket) -> list[str]:
    """Fork a keeper for each request, which forks the child and reports its end. Return in the child only."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the keepers
    die_together = die_with_parent() or (lambda: None)
    while found := socket.recv_fds(requests, 1, 1)[1]:
        if os.fork():
            os.close(found[0])
            continue
        die_together()
        requests.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with Connection(found[0]) as parent:
            command, environment, log = parent.recv()
            if child := os.fork():
                parent.send(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                os._exit(0)
            die_together()
            os.setsid()
            parent.send(os.getpid())  # from now on its group can be killed
        os.environ.clear()
        os.environ.update(environment)
        with log.open("ab", buffering=0) as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        return list(command)
    sys.exit()  # the process that runs tests has ended


if __name__ == "__main__":
    gc.disable()
    for library in LIBRARIES:
        importlib.import_module(library)
    gc.freeze()  # collections in the children leave these objects alone, so that their memory stays shared
    sys.argv = _wait_for_command(socket.socket(fileno=int(sys.argv[1])))
    gc.set_threshold(20_000, 10, 10)
    gc.enable()
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
