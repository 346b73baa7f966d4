"""Extensions of the core: windows and visits add their work at fixed moments, and the core imports none of them.

An extension derives a class from ``Extension`` and registers it when Django starts (``mirror.apps``).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from mirror.declare.mirrors import Mirror
from mirror.redis.types import RedisClient

_extensions: Final[list["Extension"]] = []


class Extension:
    """The moments at which an extension can act. By default it does nothing."""

    def before_spread(self, mirror: Mirror, redis: RedisClient | None) -> None:
        """Act before the change of a source row orders changes of the mirror's rows."""

    def drain_all(self, redis: RedisClient) -> int:
        """Apply the changes that no drain applies. Return their number."""
        return 0

    def push_first(self, mirror: str, source: str, keys: Sequence[str], redis: RedisClient) -> bool:
        """Apply the first part of the changes of pushed rows. Return whether work is left."""
        return False

    def before_sweep(self, redis: RedisClient) -> None:
        """Act before a sweep, also while another process sweeps."""

    def sweep(self, redis: RedisClient) -> None:
        """Act in a sweep, before its drain."""

    def replay(self, mirror: str, redis: RedisClient, markers: Mapping[str, bytes]) -> bool:
        """Repeat what another incarnation of Redis received for this mirror. Return whether all of it is done.

        markers: of that incarnation, by mirror.
        """
        return True


def register_extension(extension: Extension) -> None:
    """Let the core call this extension. An extension of the same class is replaced."""
    _extensions[:] = [known for known in _extensions if type(known) is not type(extension)]
    _extensions.append(extension)


def list_extensions() -> Sequence[Extension]:
    """Return the registered extensions."""
    return _extensions
