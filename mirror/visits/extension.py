"""What visits add to the core: a sweep requests that they are written to SQL."""

from mirror.extensions import Extension, register_extension
from mirror.redis.types import RedisClient
from mirror.relay import send
from mirror.visits import sweep


class Visits(Extension):
    """Visits that wait for SQL."""

    def before_sweep(self, redis: RedisClient) -> None:
        if sweep.is_due(redis):
            send.consume_visits()


def register() -> None:
    """Register the extension."""
    register_extension(Visits())
