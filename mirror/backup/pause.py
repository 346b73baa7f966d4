"""A pause of all writes to Redis, so that SQL can be copied with every item that Redis has first."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redis.exceptions import NoPermissionError

from mirror.conf import setting
from mirror.redis.types import RedisClient


@contextmanager
def pause_writes(redis: RedisClient) -> Iterator[Callable[[], bool]]:
    """Let writes to Redis wait during the block; reads go on. Yield a function: is the pause still in force?

    Each server ends the pause after ``BACKUP_PAUSE_SECONDS``, so a killed process stops no writer for longer. Requests
    give up earlier, and write to SQL. Raises redis-py's errors.
    """
    began, seconds = time.monotonic(), float(setting("BACKUP_PAUSE_SECONDS"))
    try:
        redis.execute_command("CLIENT", "PAUSE", int(seconds * 1000), "WRITE")
    except NoPermissionError as error:
        raise NoPermissionError(
            f"writes to Redis cannot be paused: allow CLIENT PAUSE and CLIENT UNPAUSE ({error})"
        ) from None
    try:
        yield lambda: time.monotonic() - began < seconds
    finally:
        redis.execute_command("CLIENT", "UNPAUSE")
