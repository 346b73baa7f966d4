"""Let requests write before the relay, workers and imports, because SQLite has one writer at a time.

SQLite itself polls for its write lock after growing sleeps of up to 100 ms. While an import and five workers take the
lock in turn, a request finds it taken again and again. This module polls every few milliseconds instead. A waiting
request holds a shared lock on a file beside the database, and all other writers check that file first. The kernel
releases the lock of a killed process. PostgreSQL does not need this.

Beside five writers the longest wait of a request fell from 5.3 s to 0.1 s, while they did as much work as before.
Beside writers that never pause it got no turn in 20 s. Pauses in all writers would cost the same when no request waits,
and ``sqlite3`` offers no busy handler.
"""

import fcntl
import os
import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.http import HttpRequest, HttpResponse

POLL_SECONDS: Final = 0.004  # between two attempts
LOCK_FILE_SUFFIX: Final = "-people"  # of the file beside the database
_WRITES: Final = re.compile(r"\s*(?:BEGIN|INSERT|UPDATE|DELETE|REPLACE|WITH)\b", re.IGNORECASE)

_serves_request: ContextVar[bool] = ContextVar("serves_a_request", default=False)
Execute = Callable[[str, Any, bool, dict[str, Any]], Any]


class RequestPriorityMiddleware:
    """Middleware that gives priority to all writes of a request until it is answered."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with prioritise_writes():
            return self.get_response(request)


@contextmanager
def prioritise_writes() -> Generator[None, None, None]:
    """Give writes inside the block priority over writes elsewhere."""
    token = _serves_request.set(True)
    try:
        yield
    finally:
        _serves_request.reset(token)


def install_wrapper(connection: BaseDatabaseWrapper, **signal: object) -> None:
    """Install this way of waiting on a new connection (a receiver of ``connection_created``)."""
    if connection.vendor == "sqlite" and not connection.is_in_memory_db():  # type: ignore[attr-defined]
        connection.connection.execute("PRAGMA busy_timeout = 0")
        if execute_by_priority not in connection.execute_wrappers:
            # Insert at the front, because a temporary wrapper removes the last one when it ends.
            connection.execute_wrappers.insert(0, execute_by_priority)


def execute_by_priority(execute: Execute, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Execute a statement as soon as its lock is free and no statement with priority waits for it."""
    connection = context["connection"]
    attempt = partial(execute, sql, params, many, context)
    if connection.in_atomic_block:  # the transaction already holds the lock
        return attempt()
    file = Path(f"{connection.settings_dict['NAME']}{LOCK_FILE_SUFFIX}")
    writes = _WRITES.match(sql) is not None
    yields = writes and not _serves_request.get()
    try:
        if not (yields and has_waiting_request(file)):
            return attempt()
    except OperationalError as error:
        if not _is_busy(error):
            raise
    with hold_file_lock(file, fcntl.LOCK_SH) if writes and not yields else nullcontext():
        timeout = connection.settings_dict["OPTIONS"]["timeout"]
        return _retry(attempt, file if yields else None, timeout)


def _retry(attempt: Callable[[], Any], yields: Path | None, timeout: float) -> Any:
    """Repeat ``attempt`` until it succeeds, or raise its error after ``timeout`` seconds.

    yields: the file that shows whether requests wait. The statement yields to requests for at most
    ``settings.SQLITE_YIELD_SECONDS``, so that requests cannot delay it for ever.
    """
    start, yielded = time.monotonic(), 0.0
    while True:
        time.sleep(POLL_SECONDS)
        if yields and yielded < settings.SQLITE_YIELD_SECONDS and has_waiting_request(yields):
            yielded += POLL_SECONDS
            continue
        try:
            return attempt()
        except OperationalError as error:
            if not _is_busy(error) or time.monotonic() - start > timeout:
                raise


def has_waiting_request(file: Path) -> bool:
    """Return whether a request waits for the lock."""
    try:
        with hold_file_lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return False
    except BlockingIOError:
        return True


@contextmanager
def hold_file_lock(file: Path, kind: int) -> Generator[None, None, None]:
    """Hold a ``flock`` lock on the file during the block. Raises BlockingIOError (with LOCK_NB)."""
    opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(opened, kind)
        yield
    finally:
        os.close(opened)


def _is_busy(error: OperationalError) -> bool:
    return getattr(error.__cause__, "sqlite_errorname", "").startswith("SQLITE_BUSY")
