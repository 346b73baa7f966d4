"""Leases in Redis: so that one process is at a job and the others leave it. For economy, never for correctness."""

import uuid
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from mirror import naming
from mirror.session import Conflict, Session


@contextmanager
def lease(redis: Any, job: str, seconds: float) -> Generator[bool, None, None]:
    """Whether this process has the job, for at most ``seconds``; it is given back at the end of the block."""
    name, token = naming.lease(job), uuid.uuid4().hex
    taken = bool(redis.set(name, token, px=int(seconds * 1000), nx=True))
    try:
        yield taken
    finally:
        if taken:
            delete_if_says(redis, name, token)


def delete_if_says(redis: Any, name: str, token: str) -> None:
    """Delete the key only while it holds ``token``: it may have run out and be somebody else's by now."""
    try:
        with Session(redis) as session:
            if session.watch_and_ask([name], [("GET", name)]) == [token.encode()]:
                session.execute([("DEL", name)])
    except Conflict:
        pass  # somebody else's now
