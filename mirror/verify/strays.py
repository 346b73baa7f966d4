"""Removal of strays."""

from mirror.comparison import scan
from mirror.declare.mirrors import Mirror
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.verify import repair, runs


def remove(mirror: Mirror, redis: RedisClient) -> int:
    """Remove all strays of a mirror after its rebuild. Return their number."""
    owned = scan.Owned(mirror)
    with Session(redis) as session:
        for found in scan.keys(session):
            old = [key for key in found if owned.is_retired(key)]
            if old:
                session.ask([("UNLINK", key) for key in old])
    differences = runs.verify([mirror.name], redis=redis, all_strays=True)
    repair.order(differences)
    repair.carry_out(differences, redis=redis)
    return sum(difference.kind == "stray" for difference in differences)
