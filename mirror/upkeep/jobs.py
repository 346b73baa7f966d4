"""The work of a relay besides drains and sweeps. Celery's tasks and ``mirror run`` perform the same functions."""

from mirror.upkeep import rebuild as rebuilding
from mirror.utils.callbacks import ProgressCallback, ignore
from mirror.verify import runs as verifying


def rebuild(mirror: str, *, if_cold: bool = True, progress: ProgressCallback = ignore) -> int:
    """Rebuild a mirror (only if it is cold), unless another process does. Return the number of rows."""
    if if_cold:
        return rebuilding.rebuild_if_cold(mirror, progress)
    return sum(done.rows for done in rebuilding.rebuild([mirror], progress=progress))


def verify(mirror: str) -> int:
    """Verify a mirror in both directions, and save the result. Return the number of differences."""
    return len(verifying.verify([mirror]))
