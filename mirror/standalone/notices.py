"""Notifications of PostgreSQL, which wake ``mirror run`` when changes commit.

A trigger on the outbox sends them (``mirror.capture.postgres``). They only save time: one may be missing, so the relay
polls as well. Where none can arrive (SQLite, psycopg 2, a pooler in transaction mode), it only polls.
"""

import logging
import threading
import time
from typing import Any, Final

from django.db import Error as DatabaseError
from django.db import connections

from mirror.capture.postgres_texts import CHANNEL
from mirror.outbox import changes
from mirror.utils.failure_log import FailureLog

SLICE_SECONDS: Final = 0.1  # how often a wait looks whether the relay is being stopped
RETRY_SECONDS: Final = 0.2
PROBE_SECONDS: Final = 1.0


class Listener:
    """Waits for new changes on a connection of its own."""

    def __init__(self) -> None:
        self._connection: Any = None
        self._failures = FailureLog(logging.getLogger("mirror"))

    def wait(self, stopped: threading.Event, seconds: float) -> None:
        """Return after a notification, when ``stopped`` is set, after a lost connection, or after ``seconds``.

        It also returns as soon as it listens: changes that committed before that sent no notification to it.
        """
        if not can_listen():
            stopped.wait(seconds)
            return
        try:
            if self._connection is None:
                self._connection = open_listening()
            else:
                _wait_for_notification(self._connection, stopped, time.monotonic() + seconds)
        except _list_errors() as error:
            self._failures.add("notices", "No notifications, the relay polls: %s", error)
            self.close()
            stopped.wait(min(seconds, RETRY_SECONDS))
        else:
            self._failures.end("notices", "Notifications arrive again")

    def close(self) -> None:
        """Close the connection. The next wait opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def can_listen() -> bool:
    """Return whether the database and its driver have notifications."""
    connection: Any = connections[changes.using()]
    # psycopg 2 has neither asynchronous connections nor this way to wait.
    return connection.vendor == "postgresql" and hasattr(connection.Database, "AsyncConnection")


def open_listening() -> Any:
    """Open a connection that listens: a wrapper of Django's that no other code uses."""
    connection = connections[changes.using()].copy()
    # A listening session must not return to a pool.
    connection.settings_dict["OPTIONS"].pop("pool", None)
    with connection.cursor() as cursor:
        cursor.execute(f"LISTEN {CHANNEL}")
    return connection


def explain_polling() -> str | None:
    """Return why ``mirror run`` on PostgreSQL does not learn of changes by notifications, or None if it does."""
    if not can_listen():
        return "the driver is not psycopg 3"
    with connections[changes.using()].cursor() as cursor:
        cursor.execute("SHOW max_prepared_transactions")
        if cursor.fetchone() != ("0",):
            return "max_prepared_transactions is not 0, and prepared transactions cannot notify"
        listening = open_listening()
        try:
            cursor.execute(f"NOTIFY {CHANNEL}")
            has_arrived = _has_notification(listening, PROBE_SECONDS)
            return None if has_arrived else "they do not arrive, as behind a pooler"
        finally:
            listening.close()


def _wait_for_notification(connection: Any, stopped: threading.Event, deadline: float) -> None:
    # In slices, because the driver does not notice that the relay stops.
    while not stopped.is_set():
        seconds = min(deadline - time.monotonic(), SLICE_SECONDS)
        if seconds <= 0 or _has_notification(connection, seconds):
            return


def _has_notification(connection: Any, seconds: float) -> bool:
    return bool(list(connection.connection.notifies(timeout=seconds, stop_after=1)))


def _list_errors() -> tuple[type[Exception], ...]:
    connection: Any = connections[changes.using()]
    # Django does not wrap the wait for notifications, so the driver's own errors occur as well.
    return connection.Database.Error, DatabaseError
