"""Making a mirror cold: when it is no longer known to be whole, SQL answers until it is rebuilt."""

from typing import Any

from mirror import chains, naming, outbox
from mirror.declare import Mirror
from mirror.redis import incarnation


def make_cold(name: str, redis: Any) -> None:
    """Take the marker of mirror ``name`` away; a rebuild under way has to start again.

    The rebuild's token goes first: a rebuild that ends in between must not set the marker again.
    """
    redis.delete(naming.building(name))
    redis.delete(naming.marker(name))


def obey(mirror: Mirror, redis: Any) -> int:
    """Carry out the pending changes that say "everything": cold first, marked afterwards."""
    changes = outbox.pending_of(mirror.name, [outbox.WHOLE]).get(outbox.WHOLE, [])
    if changes:
        now = incarnation(redis, ask=True)  # before: if it changes in between, replay brings the order back
        make_cold(mirror.name, redis)
        chains.mark(mirror.name, changes, now)
    return len(changes)
