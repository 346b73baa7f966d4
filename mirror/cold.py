"""Making a mirror cold: when it is no longer known to be whole, SQL answers until it is rebuilt."""

from collections.abc import Iterable
from typing import Any

from mirror import chains, naming, outbox
from mirror.declare import Mirror
from mirror.redis import incarnation
from mirror.session import Session


def make_cold(name: str, redis: Any) -> None:
    """Take the marker of mirror ``name`` away; a rebuild under way has to start again."""
    make_all_cold([name], redis)


def make_all_cold(names: Iterable[str], redis: Any) -> None:
    """Take the markers of these mirrors away, in one round trip.

    The rebuild's token goes first: a rebuild that ends in between must not set the marker again.
    """
    with Session(redis) as session:
        session.ask([("DEL", key(name)) for name in names for key in (naming.building, naming.marker)])


def obey(mirror: Mirror, redis: Any) -> int:
    """Carry out the pending changes that say "everything": cold first, marked afterwards."""
    changes = outbox.pending_of(mirror.name, [outbox.WHOLE]).get(outbox.WHOLE, [])
    if changes:
        now = incarnation(redis, ask=True)  # before: if it changes in between, replay brings the order back
        make_cold(mirror.name, redis)
        chains.mark(mirror.name, changes, now)
    return len(changes)
