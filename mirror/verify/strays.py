"""Removal of strays."""

from mirror.comparison import scan
from mirror.declare.mirrors import Mirror
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient
from mirror.verify import repair, runs


def remove(mirror: Mirror, redis: RedisClient) -> int:
    """Remove all strays of a mirror after its rebuild. Return their number."""
    _remove_retired(mirror, redis)
    differences = runs.verify([mirror.name], redis=redis, all_strays=True)
    repair.order(differences)
    repair.carry_out(differences, redis=redis)
    return sum(difference.kind == "stray" for difference in differences)


def _remove_retired(mirror: Mirror, redis: RedisClient) -> None:
    """Remove the keys of earlier layouts, which no comparison knows."""
    owned = scan.Owned(mirror)
    with Session(redis) as session:
        for found in scan.keys(session):
            retired = filter(owned.is_retired, found)
            commands: list[Command] = [("UNLINK", key) for key in retired]
            if commands:
                session.ask(commands)
