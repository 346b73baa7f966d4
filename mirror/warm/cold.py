"""Making a mirror cold: SQL answers its reads until it is rebuilt."""

from collections.abc import Iterable

from mirror.declare.mirrors import Mirror
from mirror.outbox import chains
from mirror.outbox import changes as outbox
from mirror.redis import naming
from mirror.redis.clients import incarnation
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient


def make_cold(name: str, redis: RedisClient) -> None:
    """Delete the marker of mirror ``name``. A rebuild in progress starts over."""
    make_all_cold([name], redis)


def make_all_cold(names: Iterable[str], redis: RedisClient) -> None:
    """Delete the markers of these mirrors in one round trip."""
    commands: list[Command] = []
    for name in names:
        # The rebuild's token before the marker: a rebuild that ends in between would set the marker again.
        commands.append(("DEL", naming.building(name)))
        commands.append(("DEL", naming.marker(name)))
    with Session(redis) as session:
        session.ask(commands)


def apply_whole(mirror: Mirror, redis: RedisClient) -> int:
    """Apply the pending changes of everything: make the mirror cold, then mark them. Return their number."""
    total = 0
    # Each time the outbox returns a limited number, and a bulk load appends one change for each statement.
    while changes := outbox.pending_of(mirror.name, [outbox.WHOLE]).get(outbox.WHOLE, []):
        # Asked first: if the incarnation changes after it, a replay makes the changes pending again.
        now = incarnation(redis, ask=True)
        make_cold(mirror.name, redis)
        chains.mark({mirror.name: changes}, now)
        total += len(changes)
    return total
