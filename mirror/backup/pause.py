"""A pause of all writes to Redis, so that SQL can be copied with every item that Redis has first."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from redis.exceptions import NoPermissionError

from mirror.redis.types import RedisClient

PAUSE_SECONDS: Final = 2.0  # the longest wait of a writer; requests give up earlier, and write to SQL


@contextmanager
def pause_writes(redis: RedisClient) -> Iterator[Callable[[], bool]]:
    """Let writes to Redis wait during the block; reads go on. Yield a function: is the pause still in force?

    The server ends the pause by itself, so a killed process stops no writer for longer. Raises redis-py's errors.
    """
    began = time.monotonic()
    try:
        redis.execute_command("CLIENT", "PAUSE", int(PAUSE_SECONDS * 1000), "WRITE")
    except NoPermissionError as error:
        raise NoPermissionError(
            f"writes to Redis cannot be paused: allow CLIENT PAUSE and CLIENT UNPAUSE ({error})"
        ) from None
    try:
        yield lambda: time.monotonic() - began < PAUSE_SECONDS
    finally:
        redis.execute_command("CLIENT", "UNPAUSE")
