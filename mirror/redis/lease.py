"""Leases in Redis: one process does a job and the others skip it.

Leases save work; correctness never depends on them. A lease is short and is renewed while its job runs, so the job
of a killed process is soon free. It names its owner, so a process can take its own lease again if a request timed
out but was executed later.
"""

import logging
import os
import threading
import uuid
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

from mirror.redis import naming
from mirror.redis.clients import try_redis
from mirror.redis.scripts import Script
from mirror.redis.session import Conflict, Session
from mirror.redis.types import RedisClient

logger = logging.getLogger("mirror")
LEASE_SECONDS: Final = 3.0  # how long a sweep or rebuild stays leased after its process was killed

TAKE: Final = Script(Path(__file__).parent / "lease_take.lua")
_PROCESS: Final = uuid.uuid4().hex  # the name of this process as an owner
_held: Final[set[str]] = set()  # the leases held under this process's name
_guard = threading.Lock()


@contextmanager
def lease(redis: RedisClient, job: str, seconds: float | None = None) -> Generator[bool, None, None]:
    """Hold the lease for the block, and yield whether this process has it.

    seconds: how long the lease lasts after its process was killed (None: ``LEASE_SECONDS``). Raises redis-py's
    errors.
    """
    seconds = LEASE_SECONDS if seconds is None else seconds
    name = naming.lease(job)
    # Under the process's own name, it can take the lease again that it got by a request which timed out. A second
    # block at the same time needs another name, so that it competes for the lease like another process.
    with _guard:
        is_first = name not in _held
        if is_first:
            _held.add(name)
    owner = _PROCESS if is_first else uuid.uuid4().hex
    token = f"{owner}:{os.getpid()}"
    try:
        is_taken = bool(TAKE(redis, [name], [token, int(seconds * 1000)]))
        with _keep_lease(redis, name, token, seconds) if is_taken else nullcontext():
            yield is_taken
    finally:
        if is_first:
            _held.discard(name)


@contextmanager
def _keep_lease(redis: RedisClient, name: str, token: str, seconds: float) -> Generator[None, None, None]:
    """Renew the lease in a thread during the block, and release it afterwards."""
    done = threading.Event()
    renewal = threading.Thread(target=_renew_regularly, args=(redis, name, token, seconds, done), daemon=True)
    renewal.start()
    try:
        yield
    finally:
        done.set()
        renewal.join()
        release_lease(redis, name, token)


def _renew_regularly(redis: RedisClient, name: str, token: str, seconds: float, done: threading.Event) -> None:
    def renew(redis: RedisClient) -> None:
        TAKE(redis, [name], [token, int(seconds * 1000)])

    while not done.wait(seconds / 3):
        try_redis(renew, lambda: None, logger, "Redis did not renew the lease %s: %s", name, redis=redis)


def release_lease(redis: RedisClient, name: str, token: str) -> None:
    """Delete the lease ``name`` if it still has ``token``. It may have expired, and belong to another process."""
    try:
        with Session(redis) as session:
            if session.watch_and_ask([name], [("GET", name)]) == [token.encode()]:
                session.execute([("DEL", name)])
    except Conflict:
        # Another process has it now.
        pass
