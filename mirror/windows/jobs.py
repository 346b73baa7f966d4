"""The work of a relay on windows. Celery's tasks and ``mirror run`` perform the same function."""

from redis.exceptions import RedisError

from mirror import registry
from mirror.redis.session import Conflict
from mirror.utils.log import logger
from mirror.windows import window
from mirror.windows.declare import WindowMirror


def warm(mirror: str, owner: str) -> bool:
    """Warm a lazy window that a reader found cold. Return whether it exists."""
    found = registry.get(mirror)
    assert isinstance(found, WindowMirror)
    try:
        return window.warm(found, owner)
    except (RedisError, Conflict) as error:
        # Its next reader requests it again.
        logger.warning("The window %s of %s stays cold: %s", owner, mirror, error)
        return False
