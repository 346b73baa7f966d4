"""What windows add to the core: their kind, and the pushes of rows into them."""

from collections.abc import Mapping, Sequence

from mirror.declare.mirrors import Mirror
from mirror.extensions import Extension, register_extension
from mirror.kinds import kind_of, register_kind
from mirror.redis.clients import relay_client
from mirror.redis.types import RedisClient
from mirror.windows import deliver, push, reading, window
from mirror.windows.kinds import LazyKind, make_kind


class Windows(Extension):
    """Windows and their pushes."""

    def before_spread(self, mirror: Mirror, redis: RedisClient | None) -> None:
        """End deliveries in progress."""
        # Before the spread: they have read which rows to show before this change, and would undo its recomputes.
        kind = kind_of(mirror)
        if isinstance(kind, LazyKind):
            deliver.stop_deliveries(kind.mirror, redis or relay_client())

    def drain_all(self, redis: RedisClient) -> int:
        return push.push_all(redis)

    def push_first(self, mirror: str, source: str, keys: Sequence[str], redis: RedisClient) -> bool:
        return push.push_first(mirror, source, keys, redis)

    def sweep(self, redis: RedisClient) -> None:
        push.send_pending(redis)

    def replay(self, mirror: str, redis: RedisClient, markers: Mapping[str, bytes]) -> bool:
        return push.repeat_pushes(mirror, redis, markers)


def register() -> None:
    """Register the kind, the extension, and the warm-ups that readers request."""
    register_kind("window", make_kind)
    register_extension(Windows())
    reading.warming.request = window.warm_soon
