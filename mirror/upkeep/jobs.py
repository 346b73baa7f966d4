"""The work of a relay besides drains and sweeps. Celery's tasks and ``mirror run`` perform the same functions."""

import logging

from redis.exceptions import RedisError

from mirror import registry
from mirror.redis.session import Conflict
from mirror.upkeep import rebuild as rebuilding
from mirror.utils.callbacks import ProgressCallback, ignore
from mirror.verify import runs as verifying
from mirror.windows import window
from mirror.windows.declare import WindowMirror

logger = logging.getLogger("mirror")


def rebuild(mirror: str, *, if_cold: bool = True, progress: ProgressCallback = ignore) -> int:
    """Rebuild a mirror (only if it is cold), unless another process does. Return the number of rows."""
    if if_cold:
        return rebuilding.rebuild_if_cold(mirror, progress)
    return sum(done.rows for done in rebuilding.rebuild([mirror], progress=progress))


def warm(mirror: str, owner: str) -> bool:
    """Warm a lazy window that a reader found cold. Return whether it exists."""
    found = registry.get(mirror)
    assert isinstance(found, WindowMirror)
    try:
        return window.warm(found, owner)
    except (RedisError, Conflict) as error:
        logger.warning("The window %s of %s stays cold: %s", owner, mirror, error)
        return False


def verify(mirror: str) -> int:
    """Verify a mirror in both directions, and save the result. Return the number of differences."""
    return len(verifying.verify([mirror]))
