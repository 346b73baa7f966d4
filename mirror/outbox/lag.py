"""The lag of the last minutes: how long the oldest change has waited, noted by the sweep."""

from typing import Final

from mirror.models import Change
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.types import RedisClient
from mirror.utils import moments

STEP_SECONDS: Final = 10
KEPT: Final = 90  # values: 15 minutes


def note_if_due(redis: RedisClient) -> None:
    """Add the present lag if the last value of all processes was ``STEP_SECONDS`` ago."""
    if not redis.set(naming.lease("lag"), 1, nx=True, px=STEP_SECONDS * 1000):
        return
    pending = Change.objects.using(changes.using()).in_order().filter(quarantined_at__isnull=True)
    oldest = pending.values_list("created_at", flat=True).first()
    seconds = 0.0
    if oldest is not None:
        # By SQL's clock, which also gave the change its time
        seconds = max(0.0, changes.clock() - moments.to_seconds(oldest))
    name = naming.lag()
    pipe = redis.pipeline(transaction=False)
    pipe.lpush(name, f"{seconds:.3f}")
    pipe.ltrim(name, 0, KEPT - 1)
    pipe.execute()


def read(redis: RedisClient) -> list[float]:
    """Return the lag in seconds, from the oldest to the newest value."""
    return [float(value) for value in redis.lrange(naming.lag(), 0, -1)[::-1]]
